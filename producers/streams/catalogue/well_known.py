"""Well-known streams from several places."""

from __future__ import annotations

from driftway.producers.streams.catalogue.entry import DownloadSource, Entry

DRIFT = "https://raw.githubusercontent.com/Anjin-Liu/ConceptDriftDatasets/32048078fcdce2f639c882b4d92c2c1d1f019d77/"
CAPYMOA = (
    "https://raw.githubusercontent.com/adaptive-machine-learning/CapyMOA/095caba132be043ec4fddf5e01ddaab6f96fb336/"
)
BROWNLEE = "https://raw.githubusercontent.com/jbrownlee/Datasets/d20fcb6402ae34e653d4513b00f39257bb37ed7f/"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
FIGSHARE = "https://ndownloader.figshare.com/files/"
"""Hosts scikit-learn's copies of UCI files; scikit-learn publishes their checksums."""

NONE_STATED = "none stated; cite the paper"
UCI_LICENCE = "CC BY 4.0"
KATAKIS = (
    "I. Katakis, G. Tsoumakas, I. Vlahavas: An ensemble of classifiers for coping with recurring contexts in data "
    "streams. ECAI 2008, 763-764"
)

WELL_KNOWN: tuple[Entry, ...] = (
    Entry(
        name="electricity",
        about="whether the price in New South Wales is above that of the last 24 hours, half-hourly 1996-1998",
        sources=(
            DownloadSource(
                f"{DRIFT}RealWorld/Classification/elecNorm/elecNorm.arff",
                "sha256:2d86fbc74c69a5c04bcde0119bce280dd6d8efa0115987edc75b77ccf024d7f2",
                3_092_013,
            ),
        ),
        rows=45_312,
        features=8,
        task="classification",
        licence="public (OpenML 151)",
        citation="M. Harries: Splice-2 comparative evaluation: electricity pricing. Univ. of New South Wales, 1999",
        verified="rows",
        format="arff",
        labels=("DOWN", "UP"),
        rows_sha256="dd24d279da6ed2b28a2369e52fb9e851273ab8748aa5a9c4c8c136e86d033d9e",
    ),
    Entry(
        name="usenet1",
        about="messages of 20 Newsgroups; what is of interest flips every 300 rows",
        sources=(
            DownloadSource(
                f"{DRIFT}RealWorld/Classification/usenet1/usenet1.arff",
                "sha256:103b2ecb08b7251e39f82e1cac9f9e0c9d2691bd45a6ffd5e797e3d64da7d99d",
                302_952,
            ),
        ),
        rows=1_500,
        features=99,
        task="classification",
        licence=NONE_STATED,
        citation=KATAKIS,
        verified="rows",
        format="arff",
        labels=("0", "1"),
        rows_sha256="0a5f4fbc241f68aa92b0eda39d6dac14d3cd48c3436b3e7d1cafc49afb04bccf",
    ),
    Entry(
        name="usenet2",
        about="messages of 20 Newsgroups; the topic of interest changes every 300 rows",
        sources=(
            DownloadSource(
                f"{DRIFT}RealWorld/Classification/usenet2/usenet2.arff",
                "sha256:af81185cd58425efd60f0a45e0c03ac74ab6643a5042e590f67ca6e5b5ad2b9b",
                302_956,
            ),
        ),
        rows=1_500,
        features=99,
        task="classification",
        licence=NONE_STATED,
        citation=KATAKIS,
        verified="rows",
        format="arff",
        labels=("0", "1"),
        rows_sha256="aea9a7e27f2e69b4a91fbd186ce1eccb6016cc67908a402ec91251c2f365e580",
    ),
    Entry(
        name="powersupply",
        about="the hour of the day from the power of two sources, hourly 1995-1998; the row index predicts the label",
        sources=(
            DownloadSource(
                f"{DRIFT}RealWorld/powersupply.arff",
                "sha256:3922fce2b263777668bf62f5203650a32b8a79e211132c512c3ca1e9807c1c90",
                367_120,
            ),
        ),
        rows=29_928,
        features=2,
        task="classification",
        licence=NONE_STATED,
        citation="X. Zhu: Stream data mining repository, www.cse.fau.edu/~xqzhu/stream.html, 2010",
        verified="rows",
        format="arff",
        labels=tuple(map(str, range(24))),
        rows_sha256="e091fff104abb4054c8a28f9d41371847e1e90216fc1b55d3d25200aab0b159e",
    ),
    Entry(
        name="hyperplane_moa",
        about="MOA's rotating hyperplane, -t 0.001 -n 10: gradual drift, 10 % label noise",
        sources=(
            DownloadSource(
                f"{DRIFT}Synthetic/HYP/HYP0.arff",
                "sha256:3c56a1fdbbd3991ed9749c99e310b68fb19d5604e419287d6f57bbb6df3deef7",
                1_997_272,
            ),
        ),
        rows=10_000,
        features=10,
        task="classification",
        licence=NONE_STATED,
        citation="A. Bifet, G. Holmes, R. Kirkby, B. Pfahringer: MOA: massive online analysis. JMLR 11, 2010",
        verified="rows",
        format="arff",
        labels=("class1", "class2"),
        rows_sha256="0a847b479f09a44912dbaab4f4c9d970019805b7e425966d6482f2062a3198fd",
    ),
    Entry(
        name="fried",
        about="Friedman's synthetic function, without drift",
        sources=(
            DownloadSource(
                f"{CAPYMOA}data/fried.csv",
                "sha256:8921a96371c0f6615e13d651db8ec7b1216e1a42d8957c79372c356b5477a65b",
                2_673_779,
            ),
        ),
        rows=40_768,
        features=10,
        task="regression",
        licence="public (OpenML 564)",
        citation="J. H. Friedman: Multivariate adaptive regression splines. Annals of Statistics 19(1), 1991, 1-67",
        verified="rows",
        header=True,
        rows_sha256="e28f61f7afa3ea95efce0e200fe79686a5984c8f2803dfd03947578ac96dcf8d",
    ),
    Entry(
        name="beijing_pm25",
        about="fine dust PM2.5 in Beijing, hourly 2010-2014",
        sources=(
            DownloadSource(
                f"{BROWNLEE}pollution.csv",
                "sha256:892e9559205d16d32623135c127a3951c12e46ea1e0b3093e107ce89a9fd60e2",
                2_010_492,
            ),
        ),
        rows=41_757,
        features=10,
        task="regression",
        licence=UCI_LICENCE,
        citation="X. Liang et al.: Assessing Beijing's PM2.5 pollution. Proc. Royal Society A 471, 2015 (UCI 381)",
        verified="rows",
        header=True,
        label="pm2.5",
        drop=("No", "year"),
        unlabelled_rows=True,
        codes={"cbwd": ("NE", "NW", "SE", "cv")},
        rows_sha256="8c2395ae80a5cca4e846b6f7dcba61359e50565d71f87e1d8193d27fb4f11722",
    ),
    Entry(
        name="bike_hour",
        about="bicycles rented in Washington, hourly 2011-2012",
        sources=(DownloadSource(f"{UCI}00275/Bike-Sharing-Dataset.zip", member="hour.csv"),),
        rows=17_379,
        features=12,
        task="regression",
        licence=UCI_LICENCE,
        citation="H. Fanaee-T, J. Gama: Event labeling combining ensemble detectors and background knowledge. "
        "Progress in Artificial Intelligence 2, 2014, 113-127 (UCI 275)",
        verified="address",
        header=True,
        label="cnt",
        drop=("instant", "dteday", "casual", "registered"),
        rows_sha256="9a2ce7132a06e3b184069d45f26bfb46c4ad524e775e7e36e36205bf12e849aa",
    ),
    Entry(
        name="covtype",
        about="forest cover type of 30 x 30 m cells in Colorado, in the order of the file",
        sources=(
            DownloadSource(
                f"{FIGSHARE}5976039", "sha256:614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771"
            ),
        ),
        rows=581_012,
        features=54,
        task="classification",
        licence=UCI_LICENCE,
        citation="J. A. Blackard, D. J. Dean: Comparative accuracies of artificial neural networks and discriminant "
        "analysis in predicting forest cover types. Computers and Electronics in Agriculture 24(3), 1999 (UCI 31)",
        verified="checksum",
        labels=tuple(map(str, range(1, 8))),
    ),
)
