"""Checks of every op: how outcomes are told apart, and what is printed of them."""

from tests.bridges.every_op import Checks, NotMeant, Verdict, each_op, summary
from tests.gradients import suites


def right(suite):
    return f"{suite.op.name} as it is"


def not_meant(suite):
    raise NotMeant("it is no op of ours")


def documented(suite):
    raise NotImplementedError("no such thing")


def wrong(suite):
    raise ValueError("1\n  is not 2")


def excuse(error):
    return "a documented refusal" if isinstance(error, NotImplementedError) else ""


CHECKS = Checks(
    {"right": right, "not_meant": not_meant, "documented": documented, "wrong": wrong}, excuse, lambda: None
)


def test_outcomes_say_how_a_check_went_and_why():
    found = CHECKS.outcomes(list(CHECKS.by_name), "relu")
    assert [(each.check, each.op, each.verdict, each.text) for each in found] == [
        ("right", "relu", Verdict.RIGHT, "relu as it is"),
        ("not_meant", "relu", Verdict.NOT_MEANT, "it is no op of ours"),
        ("documented", "relu", Verdict.EXCUSED, "a documented refusal"),
        ("wrong", "relu", Verdict.WRONG, "ValueError: 1 is not 2"),
    ]


def test_a_summary_counts_what_is_right_among_what_is_meant():
    outcomes = [
        each for op in ("relu", "tanh") for each in CHECKS.outcomes(["right", "not_meant", "wrong"], op)
    ]
    assert summary("right", outcomes).partition(", ")[0] == "right: 2 of 2 ops"
    assert summary("right", outcomes).endswith("; 1 relu as it is; 1 tanh as it is")
    assert summary("wrong", outcomes).startswith("wrong: 0 of 2 ops")
    assert summary("not_meant", outcomes).endswith("; not meant for 2: it is no op of ours")


def test_ops_go_to_processes_and_come_back_in_order():
    assert list(each_op(str.upper, ["tanh", "abs", "relu"], 2)) == ["ABS", "RELU", "TANH"]


def test_all_ops_are_there_where_none_is_named():
    assert len(list(each_op(len, [], 1))) == len(list(suites([])))
