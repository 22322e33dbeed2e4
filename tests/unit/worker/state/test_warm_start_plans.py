"""Plans of a group whose champion began with a model file."""

from __future__ import annotations

from pathlib import Path

from driftway.worker.admin.state_admin.group_replay import with_one_learner
from driftway.worker.state import model_file
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import ModelPlan
from driftway.worker.wire.codec import encode_events
from tests.unit.worker.rows import drifting, model_settings, records
from tests.unit.worker.trained import CHAMPION, perceptron, written

ROWS = 200


def test_a_demoted_champion_beside_an_empty_model_of_its_name_can_be_read_and_compared(tmp_path: Path) -> None:
    X, y = drifting(ROWS)
    warm = written(tmp_path / "m.driftway", perceptron(X, y)).warm_start()
    model = Model(model_settings(CHAMPION, CHAMPION, "arow", warm=warm), 0)
    begun, empty, other = model.plan.models
    model = model.followed_by(ModelPlan(2, (other, begun, empty)))
    model.advance(records(encode_events(X, y, 0)))
    file = model_file.unpack(model_file.pack(model, model.save(), ROWS), "a snapshot")
    assert file.settings().names == ("arow", f"warm:{CHAMPION}", CHAMPION)
    assert with_one_learner(model, empty, 0).save().parts[0].tobytes() == model.save().parts[2].tobytes()
