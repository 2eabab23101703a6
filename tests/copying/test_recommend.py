"""Which methods match a request, which one is recommended, and how the others compare with it."""

from dataclasses import replace
from statistics import median

import msgspec
import pytest

from tensorcopy.copying import BASELINE, advise, recommend
from tensorcopy.copying.recommend import CopyRequest, Evidence, Timed
from tensorcopy.judge.methods import Word
from tests import launch_files
from tests.launch_files import SEEN

OWN = CopyRequest(to="tensor", own=True, keeps_graph=None, requires_grad=False, device="cpu")
NOISE = (0.998, 1.001, 1.0, 1.002, 0.999, 1.0)  # of six launches


def evidence(times, *, device="cpu", noise=NOISE, on_cpu=(), copying=(), dtype="float32", layout="contiguous", **observed):
    """Return what was seen of methods with these nanoseconds, by method and size, for a tensor that requires no grad.

    noise : by which the launches of each method differ, another one for each
    on_cpu : methods that share storage there
    observed : special behaviour by method
    """
    rows = {name: launch_files.observed(code=f"{name}(x)", **observed.get(name, {})) for name, _ in times}
    for name, row in rows.items():
        seen = row["observed"].pop("cpu")
        if name in on_cpu:
            row["observed"]["cpu"] = {kind: {**each, "shares_storage": True} for kind, each in seen.items()}
        row["observed"][device] = seen
    timed = {numel: Timed(numel, False, dtype, layout, {}, {}) for _, numel in times}
    for place, ((name, numel), time) in enumerate(times.items()):
        timed[numel].seconds[name] = time * 1e-9
        timed[numel].launches[name] = [time * 1e-9 * each for each in (*noise[place % len(noise) :], *noise[: place % len(noise)])]
    return Evidence("shipped", "2.15.0", "Box", "2026-11-21", rows, [*timed.values()], [*copying])


def table(times, request=OWN, **options):
    return recommend.table(evidence(times, **options), request)


def of_size(**times):
    return {(name, 16): time for name, time in times.items()}


@pytest.mark.parametrize(
    "outcome",
    [
        {"shares_storage": True},
        {"raises": "RuntimeError: no"},
        {"gives": "ndarray", "keeps_graph": None},
        {"changes": "values"},
        {"dtype": "float64"},
        {"unobserved": ("shares storage only with a contiguous tensor",)},
    ],
    ids=lambda outcome: next(iter(outcome)),
)
def test_a_method_that_does_something_else_does_not_match(outcome):
    """An independent tensor is requested, and only what was seen to be one on every form of a tensor."""
    assert [row.method for row in table(of_size(detach_clone=300, other=1), other=outcome).rows] == ["detach_clone"]


FASTEST = "As fast as the fastest of 2 methods."
CHOSEN = {  # nanoseconds by method, which one is recommended and why; by 5 % and 50 ns
    "clearly faster": ({"detach_clone": 1100, "b": 1000}, "b", "1.1 × as fast as `detach_clone(x)`, the usual form."),
    "by less than 5 %": ({"detach_clone": 10_400, "b": 10_000}, "detach_clone", FASTEST),
    "by 40 ns": ({"detach_clone": 240, "b": 200}, "detach_clone", FASTEST),
    "slower": ({"detach_clone": 1000, "b": 1100}, "detach_clone", "The fastest of 2 methods."),
    "as fast": ({"detach_clone": 1000, "b": 1001}, "detach_clone", FASTEST),
    "alone": ({"detach_clone": 1000}, "detach_clone", "The only matching method that was timed."),
}


@pytest.mark.parametrize(("times", "first", "why"), CHOSEN.values(), ids=CHOSEN)
def test_the_usual_form_is_recommended_unless_another_is_clearly_faster(times, first, why):
    """The rows begin with it."""
    made = table(of_size(**times))
    (column,) = made.columns
    assert (column.recommended, column.why, made.rows[0].method) == (first, why, first)
    assert column.cells[first].against is None
    assert recommend.compared(made, first) == ""


UNKNOWN = {  # nanoseconds by method, how its launches differ, and at which sizes; by how many of the others are not told apart
    "The other method cannot": ({"detach_clone": 1200, "b": 1000}, (0.6, 1.5, 1.0, 1.3, 0.8, 1.1), [16]),
    "Some of the 2 other methods cannot": ({"detach_clone": 1000, "b": 6000, "c": 1020}, (0.8, 1.2, 1.0), [16]),
    "None of 2 other methods can": ({"detach_clone": 1300, "b": 1000, "c": 1100}, (0.8, 1.2, 1.0), [16, 128]),
}


@pytest.mark.parametrize("others", UNKNOWN)
def test_a_method_must_be_significantly_faster(others):
    """Where that cannot be told, the answer says so, and by how much more time it would have been told."""
    times, noise, sizes = UNKNOWN[others]
    made = table({(name, numel): time for numel in sizes for name, time in times.items()}, noise=noise)
    whys = {(column.recommended, column.why) for column in made.columns}
    assert whys == {("detach_clone", f"The usual form. {others} be told apart from it.")}
    against = [cell.against for column in made.columns for cell in column.cells.values() if cell.against]
    unknown = [each.seen for each in against if each.word is Word.NOT_TOLD_APART]
    which, half = ("The one", "") if len(unknown) == 1 else ("Of the 4 methods × sizes", ", half")
    said = f"only at {median(unknown):.2g} × its time or more ({len(noise)} launches)."
    assert made.notes[-1] == f"{which} not told apart from `detach_clone(x)`{half} would have been noticed {said}"


CAVEATS = {
    "warns: UserWarning: do not": {"warns": "UserWarning: do not"},
    "returns a leaf that requires grad": {"requires_grad": True},
    "does not keep strides: the result is contiguous": {"layout": "contiguous"},
}


@pytest.mark.parametrize("caveat", CAVEATS)
def test_a_faster_method_that_has_a_caveat_is_named_and_not_recommended(caveat):
    """Unless the usual form has it too."""
    times = of_size(detach_clone=1300, b=1000, c=1400)
    made = table(times, b=CAVEATS[caveat])
    (column,) = made.columns
    assert (column.recommended, column.why) == ("detach_clone", f"`b(x)` is 1.3 × as fast, but {caveat}. This form is safe everywhere.")
    assert made.notes == (f"`b(x)` is up to 1.3 × as fast, but {caveat}.",)
    assert table(times, b=CAVEATS[caveat], detach_clone=CAVEATS[caveat]).columns[0].recommended == "b"


def test_of_methods_that_are_faster_the_one_that_takes_least_over_all_sizes_is_recommended():
    """Within 5 % of the fastest at this size: the answer shall not change from size to size."""
    times = {("detach_clone", 16): 2000, ("b", 16): 1000, ("c", 16): 1010, ("detach_clone", 128): 2000, ("b", 128): 1400, ("c", 128): 1000}
    assert [column.recommended for column in table(times).columns] == ["c", "c"]


@pytest.mark.parametrize(("time", "found"), [(1000, []), (2000, ["b(x)"])])
def test_for_another_layout_that_is_named_which_is_recommended_there(time, found):
    """At most sizes: here at one of three, or at two."""
    times = {("detach_clone", 16): 1000, ("detach_clone", 32): time, ("detach_clone", 64): 2000}
    transposed = evidence(times | {("b", numel): 1500 for _, numel in times}, layout="transposed")
    contiguous = evidence(of_size(detach_clone=1000, b=1100))
    both = msgspec.structs.replace(contiguous, timed=[*contiguous.timed, *transposed.timed])
    assert [*recommend.elsewhere(recommend.table(both, OWN))] == found


def test_what_a_method_does_on_another_device_is_a_caveat():
    seen = {"gives": "ndarray", "keeps_graph": None, "is_leaf": None, "requires_grad": None}
    names = "detach_to_cpu_copy_numpy", "numpy_force", "clone_detach_numpy"
    on_device = {"device": "cuda", "on_cpu": {"numpy_force"}, "copying": ["clone_detach_numpy"]}
    made = table(
        of_size(**dict.fromkeys(names, 1000)), recommend.common_request("ndarray", "cuda"), **on_device, **dict.fromkeys(names, seen)
    )
    assert {row.method: row.caveats for row in made.rows} == {
        "detach_to_cpu_copy_numpy": (),
        "numpy_force": ("shares memory if x is on the CPU",),
        "clone_detach_numpy": ("takes the memory of x on the device once more",),
    }


COMPARED = {  # the words of a method at each size, None without a launch that has both
    "slower": (Word.AS_FAST, Word.NOT_TOLD_APART, Word.FASTER, Word.SLOWER),
    "as fast or cannot be told apart": (Word.AS_FAST, Word.FASTER, Word.NOT_TOLD_APART),
    "cannot be told apart": (Word.NOT_TOLD_APART, Word.NOT_TOLD_APART, Word.TOO_FEW_LAUNCHES),
    "at least as fast": (Word.AS_FAST, Word.FASTER, Word.TOO_FEW_LAUNCHES),
    "as fast": (Word.AS_FAST, Word.TOO_FEW_LAUNCHES, None),
    "too few launches": (Word.TOO_FEW_LAUNCHES, None),
    "not timed": (),
}


@pytest.mark.parametrize(("words", "expected"), [(words, expected) for expected, words in COMPARED.items()], ids=COMPARED)
def test_a_method_is_compared_over_the_sizes_in_one_word(words, expected):
    against = [word and recommend.Ratio(word, 1.0, None, None, 6) for word in words]
    columns = [recommend.SizeColumn(2**n, "a", "", {"b": recommend.Cell(1e-6, None, each)}) for n, each in enumerate(against)]
    made = replace(table(of_size(detach_clone=1000)), columns=(*columns, recommend.SizeColumn(2**20, "a", "", {})))
    assert recommend.compared(made, "b") == expected


def test_no_method_without_a_time_is_recommended_over_one_that_has_it():
    """Columns are the sizes at which the usual form was timed; one that replaces it elsewhere does not at a size without its time."""
    times = {("detach_clone", numel): 1100 for numel in (1, 16)} | {("b", 1): 1000, ("c", 128): 1}
    made = table(times)
    assert [(column.numel, column.recommended) for column in made.columns] == [(1, "b"), (16, "detach_clone")]
    assert all(column.recommended in column.cells for column in made.columns)
    assert "`c(x)` was not timed here." in made.notes


def test_the_usual_form_that_was_timed_nowhere_is_recommended_as_the_usual_form():
    """Without times: those of others would be of another tensor, and nothing is compared with it."""
    made = recommend.table(evidence(of_size(b=1000, c=2000)), OWN)
    untimed = {"a": launch_files.observed(code="a(x)"), **made.evidence.methods}
    made = recommend.table(msgspec.structs.replace(made.evidence, methods=untimed), OWN)
    assert (made.code, made.columns[0].recommended) == ("b(x)", "b")
    rows = {**made.evidence.methods, "detach_clone": launch_files.observed(code="detach_clone(x)")}
    made = recommend.table(msgspec.structs.replace(made.evidence, methods=rows), OWN)
    assert (made.code, made.columns, made.why) == ("detach_clone(x)", (), "The usual form. It was not timed.")
    assert made.rows[0].method == "detach_clone"


def test_a_size_with_too_few_launches_has_the_answer_of_the_nearest_with_more():
    """Its times stand in the table, without a verdict."""
    times = {(name, numel): time for numel in (1, 16, 128) for name, time in (("detach_clone", 1300), ("b", 1000))}
    seen = evidence(times)
    for each in seen.timed[2].launches.values():
        each[2:] = [None] * (len(each) - 2)
    column = recommend.table(seen, OWN).columns[2]
    assert (column.numel, column.recommended) == (128, "b")
    assert column.why == "Not enough measurements at this size. Recommended as at 2⁴ elements."
    assert column.cells["detach_clone"].against.word is Word.TOO_FEW_LAUNCHES
    alone = recommend.table(msgspec.structs.replace(seen, timed=seen.timed[2:]), OWN).columns[0]
    assert (alone.recommended, alone.why[-30:]) == ("detach_clone", "Recommended as the usual form.")
    several = evidence(of_size(detach_clone=1300, b=1000, c=900))
    several.timed[0].launches["c"][2:] = [None] * 4  # which leaves the others their verdicts
    (column,) = recommend.table(several, OWN).columns
    assert (column.recommended, column.cells["c"].against.word) == ("b", Word.TOO_FEW_LAUNCHES)


@pytest.mark.parametrize(
    ("dtype", "layout", "nearest", "note"),
    [
        ("float32", "contiguous", ("float32", "contiguous"), ""),
        ("int64", "contiguous", ("int64", "contiguous"), ""),
        ("complex64", "contiguous", ("int64", "contiguous"), "Timed with int64, contiguous only."),
        ("bfloat16", "contiguous", ("float16", "contiguous"), "Timed with float16, contiguous only."),
        ("int64", "strided", ("float32", "strided"), "Timed with float32, strided only."),
        ("int64", "transposed", ("int64", "contiguous"), "Timed with int64, contiguous only."),
    ],
)
def test_the_nearest_tensor_has_the_layout_then_the_bytes(dtype, layout, nearest, note):
    """What was timed instead is told once for the table."""
    tensors = [*((each, "contiguous") for each in ("float32", "float16", "int64", "bool")), ("float32", "strided")]
    several = [evidence(of_size(detach_clone=1000), dtype=dtype, layout=layout) for dtype, layout in tensors]
    seen = msgspec.structs.replace(several[0], timed=[timed for each in several for timed in each.timed])
    made = recommend.table(seen, replace(OWN, dtype=dtype, layout=layout))
    assert (made.timed.dtype, made.timed.layout) == nearest
    assert made.notes == ((note,) if note else ())


def test_what_changes_once_x_requires_grad_is_a_caveat():
    """It raises, warns, stays in the graph or requires grad itself; only for a request without grad."""
    with_grad = {
        "raises": {"raises": "RuntimeError: Can't call numpy()"},
        "warns": {"warns": "UserWarning: no"},
        "flows": {"keeps_graph": True, "requires_grad": True, "is_leaf": False},
        "own": {"requires_grad": True},
        "same": {},
    }
    seen = evidence({(name, 16): 1000 for name in with_grad})
    for name, outcome in with_grad.items():
        seen.methods[name]["observed"]["cpu"]["with_grad"] = {**SEEN, **outcome}
    assert {row.method: row.caveats for row in recommend.table(seen, OWN).rows} == {
        "raises": ("raises RuntimeError once x requires grad",),
        "warns": ("warns once x requires grad: UserWarning: no",),
        "flows": ("stays in the graph once x requires grad",),
        "own": ("requires grad itself once x does",),
        "same": (),
    }


def test_memcpy_is_no_measure_of_what_shares_storage():
    shares = {"shares_storage": True}
    seen = evidence(of_size(detach=300), detach=shares)
    seen.timed[0].seconds[BASELINE] = 100e-9
    (column,) = recommend.table(seen, replace(OWN, own=False)).columns
    assert column.cells["detach"].multiple is None


# of the shipped results: one question has one answer


def answers(device, **request):
    made = recommend.table(advise.shipped_evidence(device), CopyRequest(**{"device": device, "requires_grad": True, **request}))
    assert made.code
    return {made.row(column.recommended).code for column in made.columns} or {made.code}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_questions_of_the_article_have_one_answer_at_every_size(device, requires_grad):
    """An independent tensor, one in the graph, an independent ndarray, and shared storage; with and without grad."""
    graph = {"requires_grad": requires_grad, "keeps_graph": False if requires_grad else None}
    array = 'x.detach().to("cpu", copy=True).numpy()' if device == "cuda" else "x.detach().numpy().copy()"
    assert answers(device, to="tensor", own=True, **graph) == {"x.detach().clone()"}
    assert answers(device, to="ndarray", own=True, keeps_graph=None, requires_grad=requires_grad) == {array}
    assert answers(device, to="tensor", own=False, **graph) == {"x.detach()"}
    assert answers(device, to="tensor", own=True, keeps_graph=True) == {"x.clone()"}


def test_no_ndarray_shares_memory_with_a_tensor_on_a_device():
    shared = recommend.table(advise.shipped_evidence("cuda"), replace(recommend.common_request("ndarray", "cuda"), own=False))
    assert (shared.rows, shared.columns) == ((), ())
    assert shared.why.startswith("No ndarray shares memory with a tensor on cuda")


# of launches


def written(folder, times, **options):
    launch_files.write_counts(folder, "2.15.0", {}, methods={name.split()[1]: launch_files.observed() for name in times})
    launch_files.write(folder, {name: {"2.15.0": time} for name, time in times.items()}, **options)
    (result,) = launch_files.load(folder, "2.15.0")
    return recommend.of_result(result, "cpu")


def test_the_time_with_grad_decides_for_a_tensor_that_requires_grad(tmp_path):
    """Without it, as on a GPU and in a quick measurement, the time without grad stands for it, which the table says once."""
    request, beside = recommend.common_request("tensor", "cpu"), {"in_turns": True}
    plain = {"copies.BySize.time_copy detach_clone 16": 1.0, "copies.BySize.time_copy tensor 16": 2.0}
    made = recommend.table(written(tmp_path / "plain", plain, **beside), request)
    assert (made.timed.requires_grad, made.notes) == (False, ("Timed for a tensor that requires no grad.",))
    with_grad = {"copies.ByGrad.time_copy detach_clone 16 True": 2.0, "copies.ByGrad.time_copy tensor 16 True": 1.0}
    made = recommend.table(written(tmp_path / "grad", {**plain, **with_grad}, **beside), request)
    assert (made.timed.requires_grad, made.notes, made.columns[0].recommended) == (True, (), "tensor")


@pytest.mark.parametrize("in_turns", [False, True])
def test_launches_of_one_side_compare_methods_that_took_turns(tmp_path, in_turns):
    """A processor with two speeds takes 1.45 times as long for seconds at a time: which method it hits is chance where they did not."""
    times = {"detach_clone": [1.0, 1.45, 1.0, 1.0], "tensor": [1.45, 1.0, 1.0, 1.45], "new_tensor": [9.0, 9.1, 9.05, 9.0]}
    seen = written(tmp_path, {f"copies.BySize.time_copy {name} 16": each for name, each in times.items()}, in_turns=in_turns)
    (column,) = recommend.table(seen, OWN).columns
    words = {name: cell.against.word for name, cell in column.cells.items() if cell.against}
    assert words == ({"tensor": Word.NOT_TOLD_APART, "new_tensor": Word.SLOWER} if in_turns else {})
    assert set(column.cells) == {*times}


def test_methods_are_ordered_by_their_times_over_the_fastest_of_each_size():
    """One that was timed where another is slow is not faster for that."""
    both = {(name, numel): time for numel in (16, 2**20) for name, time in (("detach_clone", 1000), ("b", 1200))}
    made = table({**both, ("slow", 2**20): 100_000, ("c", 2**20): 1500, ("slow", 16): 1210})
    assert [row.method for row in made.rows] == ["detach_clone", "b", "c", "slow"]
