"""`--table dfop`: accuracies of DFOP and its contenders, Table 1 of Zhao and Zhou.

See docs/algorithms/reference-results.md#accuracy-and-forgetting-factors-in-dfop.
"""

from __future__ import annotations

from pathlib import Path

from driftway.workbench.paper_tables.experiments.data_sets import DATA_SETS
from driftway.workbench.paper_tables.experiments.experiment import PaperExperiment
from driftway.workbench.paper_tables.experiments.page import write_experiment
from driftway.workbench.paper_tables.published import read_table
from driftway.workbench.paper_tables.request import TableRequest

CONTENDERS = {
    "SVM-win": "svm_win",
    "1NN-win": "knn_win",
    "SVM-fix": "svm_fix",
    "SVM-ada": "svm_ada",
    "DWM": "dwm",
    "RLS": "rls",
    "DFOP": "dfop:mu={mu:g}",
}

PRINTED = """
SEA         | 73.94±0.12• | 77.27±0.04• | 86.19±0.06• | 83.47±0.09• | 87.04±0.03• | 84.54±0.47• | 87.99±0.05
hyperplane  | 83.74±0.03• | 70.66±0.03• | 87.98±0.03• | 81.94±0.07• | 88.36±0.25• | 69.67±1.40• | 90.14±0.05
1CDT        | 98.71±0.05• | 99.96±0.07  | 99.77±0.06• | 99.77±0.08• | 99.90±0.09• | 98.79±1.65• | 99.97±0.05
2CDT        | 94.86±0.06• | 94.62±0.10• | 95.19±0.13• | 95.18±0.15• | 90.21±0.67• | 62.24±0.23• | 96.36±0.09
1CHT        | 98.75±0.18• | 99.81±0.22  | 99.63±0.17• | 99.63±0.18• | 99.69±0.26• | 98.49±1.61• | 99.84±0.16
2CHT        | 87.70±0.04• | 85.69±0.05• | 89.48±0.12• | 88.89±0.13• | 85.92±0.72• | 62.57±0.23• | 89.91±0.07
1CSurr      | 97.99±0.04• | 98.12±0.11• | 94.24±1.08  | 93.56±1.08  | 96.31±0.50◦ | 67.82±0.22• | 93.24±1.44
UG-2C-2D    | 94.47±0.13• | 93.55±0.16• | 95.41±0.10• | 94.92±0.12• | 95.59±0.11  | 67.02±1.46• | 95.59±0.10
UG-2C-3D    | 93.60±0.73• | 92.83±0.93• | 95.05±0.64• | 94.48±0.71  | 95.14±0.62  | 61.95±2.60• | 95.37±0.61
UG-2C-5D    | 74.82±0.45• | 88.04±0.42• | 91.74±0.26• | 90.37±0.35• | 92.82±0.23◦ | 81.20±2.42• | 92.51±0.25
MG-2C-2D    | 90.20±0.07◦ | 87.84±0.09• | 84.98±0.06• | 84.22±0.06• | 90.15±0.06◦ | 57.18±3.66• | 85.06±0.06
GEARS-2C-2D | 95.54±0.01• | 99.61±0.00◦ | 95.41±0.01• | 95.26±0.02• | 95.82±0.02  | 95.84±0.01  | 95.83±0.02
Chess       | 69.67±1.51• | 79.58±0.54  | 77.73±1.56• | 69.18±3.65• | 73.77±0.66• | 78.70±0.83• | 79.15±0.62
Usenet-1    | 68.92±1.12  | 65.36±1.55• | 64.18±2.24• | 67.68±1.86• | 64.43±4.53• | 60.65±0.53• | 69.20±0.68
Usenet-2    | 74.44±0.71• | 71.03±0.60• | 73.99±0.69• | 72.64±0.84• | 73.37±0.93• | 73.16±0.67• | 75.60±0.57
Luxembourg  | 88.57±0.28• | 77.51±0.44• | 98.25±0.19• | 97.43±0.42• | 92.61±0.40• | 99.06±0.14• | 99.09±0.14
Spam        | 83.91±2.20• | 93.43±0.82• | 92.44±0.80• | 91.01±0.94• | 91.49±1.09• | 94.46±0.16• | 94.77±0.26
Weather     | 68.54±0.55• | 72.64±0.25• | 67.79±0.65• | 77.26±0.33• | 70.86±0.42• | 78.35±0.18• | 79.23±0.12
Powersupply | 73.33±0.25• | 72.42±0.21• | 71.17±0.15• | 69.39±0.17• | 72.18±0.29• | 69.67±0.64• | 80.46±0.04
Electricity | 74.20±0.08• | 85.33±0.09◦ | 62.01±0.59• | 58.69±0.58• | 78.60±0.41• | 74.20±0.63• | 76.94±0.26
"""

DIFFERENCES = {
    ("hyperplane", "RLS"): "the paper prints neither the law nor the size of the changes; with a new Gaussian "
    "hyperplane in each stage, which fits DFOP's figure, RLS reaches 59.4 to 64.7 over five seeds",
    (
        "Electricity",
        "RLS",
    ): "the start of P is not printed: with `delta=0.01`, the best of 0.001, 0.01, .., 100, RLS reaches 74.24",
}

EXPERIMENT = PaperExperiment(
    name="dfop",
    title="Distribution-free one-pass learning: accuracy",
    source="Zhao and Zhou, *Distribution-Free One-Pass Learning*, Table 1",
    method="DFOP",
    contenders=CONTENDERS,
    printed=read_table(PRINTED, tuple(CONTENDERS)),
    data_sets=DATA_SETS,
    checked=("RLS", "DFOP"),
    differences=DIFFERENCES,
    remarks="SVM-win, SVM-fix, SVM-ada and DWM are printed with the same figures in the paper on D-ODM. The marks of "
    "SVM-win and 1NN-win on 1CSurr are the paper's, although DFOP is lower there; for 1NN-win "
    "its own row of counts says 14/4/2. Powersupply: 0.3 was chosen here because DFOP then gives the "
    "printed accuracy; with the usual 0.2 it is 75.2, with 0.8, the best of nine, 88.4: its label is that "
    "of 12 rows ago, reversed.",
)


def write(asked: TableRequest) -> list[Path]:
    """Measure the table and write `dfop.md` and `dfop.png`."""
    return write_experiment(EXPERIMENT, asked)
