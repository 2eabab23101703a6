"""What the provenance tells of the packages that a campaign requires."""

import json

from tensorcopy.worker import packages


def install(folder, name, version="1.0", *, needs="", record="", **origin):
    """Write what an installer does: the metadata of a distribution, and where it is from."""
    place = folder / f"{name}-{version}.dist-info"
    place.mkdir(parents=True)
    requires = f"Requires-Dist: {needs}\n" if needs else ""
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}", encoding="utf-8")
    (place / "RECORD").write_text(record, encoding="utf-8")
    if origin:
        (place / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")


def test_each_required_package_has_its_version_and_one_from_files_their_digest(tmp_path, monkeypatch):
    """One of an index that needs torch is apart, since torch decides on its version; one from files is not, since its code is its own."""
    site, lab = tmp_path / "site", tmp_path / "lab"
    lab.mkdir()
    install(site, "tensor_ops", "0.8", needs="torch==2.15.0")
    install(site, "Einops.Like", "0.8.1", needs="numpy")
    install(site, "lab", needs="torch", record="lab.py,sha256=aaaa,3\n", url=lab.as_uri(), dir_info={})
    (site / "lab.py").touch()  # newer versions of importlib.metadata list only files that are there
    install(site, "unrelated", "9")
    (site / "unrelated-9.dist-info" / "direct_url.json").write_text("{", encoding="utf-8")  # as of an interrupted installer
    monkeypatch.syspath_prepend(site)
    found = packages.installed(["tensor-ops>=0.5", "einops_like", str(lab), "absent"])
    assert found["follows_torch"] == {"tensor_ops": "0.8"}
    assert found["requires"]["Einops.Like"] == "0.8.1"
    version, digest = found["requires"]["lab"].split()
    assert (version, len(digest), len(found["requires"])) == ("1.0", packages.DIGITS, 2)
    (site / "lab-1.0.dist-info" / "RECORD").write_text(
        "lab.py,sha256=bbbb,3\nlab-1.0.dist-info/INSTALLER,sha256=cccc,2\n", encoding="utf-8"
    )
    assert packages.installed([str(lab)])["requires"]["lab"] != f"1.0 {digest}"


def test_an_editable_package_has_the_digest_of_its_sources(tmp_path, monkeypatch):
    """Not of what builds, measurements and tools write beside them."""
    install(tmp_path / "site", "lab", url=(tmp_path / "lab").as_uri(), dir_info={"editable": True})
    monkeypatch.syspath_prepend(tmp_path / "site")
    seen = []
    for name, text in (("lab.py", "1"), ("results/box/1.json", "{}"), (".asv/env/other.py", "2"), ("build/lab.py", "2"), ("lab.py", "2")):
        (tmp_path / "lab" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lab" / name).write_text(text, encoding="utf-8")
        seen.append(packages.installed(["lab"])["requires"]["lab"])
    assert len({*seen[:4]}) == 1
    assert seen[4] != seen[0]
