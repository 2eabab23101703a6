"""The built package, and what must be true of it before it is published."""

from __future__ import annotations

import hashlib
import re
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from packaging import metadata
from packaging.utils import parse_sdist_filename, parse_wheel_filename

from tensorcopy.errors import TensorcopyError
from tensorcopy.site.web_addresses import UNKNOWN_SOURCE

AGAIN = "uv build --clear"
DAMAGED = (OSError, ValueError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError)  # of a file that was cut


@dataclass(frozen=True)
class BuiltFile:
    """A wheel or an sdist.

    texts : of its files, by their names in the topmost folder; of a wheel, only those about the package
    """

    path: Path
    texts: dict[str, str]

    @property
    def metadata(self) -> str:
        """The text that an index reads."""
        return self.texts.get("METADATA", "") or self.texts.get("PKG-INFO", "")

    @property
    def digest(self) -> str:
        """The file's SHA-256, in hexadecimal."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()


def publishable(folder: Path, tag: str) -> list[BuiltFile]:
    """Return the wheel and the sdist in a folder, which may be published as this tag.

    tag : the version with a "v" before it
    Raises TensorcopyError if a file is missing or invalid, if the version is not that of the tag or not in the changelog, and if the
    package does not name its repository.
    """
    wheel, sdist = _wheel(_only(folder, "*.whl")), _sdist(_only(folder, "*.tar.gz"))
    tags = {f"v{version}" for file in (wheel, sdist) for version in _versions(file)}
    if tags != {tag}:
        raise TensorcopyError(
            "the package has another version than the tag",
            got=f"{' and '.join(sorted(tags))} in {folder}",
            allowed=tag,
            next="set __version__ in tensorcopy/__init__.py, and tag the commit that does",
        )
    if not re.search(rf"^## {re.escape(tag[1:])}(?! \(unreleased\))( .*)?$", sdist.texts.get("CHANGELOG.md", ""), re.MULTILINE):
        raise TensorcopyError(
            "the changelog has no section on the version",
            got=f"no heading {tag[1:]} in CHANGELOG.md of {sdist.path.name}",
            allowed=f"## {tag[1:]}, which may be followed by a date",
            next="give the section on the newest changes this heading, and tag the commit that does",
        )
    if any(UNKNOWN_SOURCE in file.metadata for file in (wheel, sdist)):
        raise TensorcopyError(
            "the package does not name its repository",
            got=UNKNOWN_SOURCE,
            allowed="the repository's address",
            next="set source_url in asv.conf.json and [project.urls] in pyproject.toml, and tag the commit that does",
        )
    return [wheel, sdist]


def _only(folder: Path, pattern: str) -> Path:
    paths = sorted(folder.glob(pattern))
    if len(paths) != 1:
        raise TensorcopyError(
            "a package is one wheel and one sdist",
            got=", ".join(path.name for path in paths) or f"no {pattern} in {folder}",
            allowed=f"one {pattern}",
            next=AGAIN,
        )
    return paths[0]


def _wheel(path: Path) -> BuiltFile:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/[^/]+", name)]
            return BuiltFile(path, {name.partition("/")[2]: archive.read(name).decode() for name in names})
    except DAMAGED as error:
        raise _invalid(path, error) from error


def _sdist(path: Path) -> BuiltFile:
    try:
        with tarfile.open(path) as archive:
            members = [member for member in archive.getmembers() if member.isfile() and member.name.count("/") == 1]
            files = {member.name.partition("/")[2]: archive.extractfile(member) for member in members}
            return BuiltFile(path, {name: file.read().decode() for name, file in files.items() if file})
    except DAMAGED as error:
        raise _invalid(path, error) from error


def _versions(file: BuiltFile) -> set[str]:
    """Return the versions in a file's name and in its metadata. Raises TensorcopyError for one that is invalid."""
    parse = parse_wheel_filename if file.path.suffix == ".whl" else parse_sdist_filename
    try:
        return {str(parse(file.path.name)[1]), str(metadata.Metadata.from_email(file.metadata).version)}
    except ValueError as error:
        raise _invalid(file.path, error) from error
    except metadata.ExceptionGroup as error:
        raise _invalid(file.path, error.exceptions[0]) from error


def _invalid(path: Path, error: Exception) -> TensorcopyError:
    return TensorcopyError(f"{path.name} is invalid", got=str(error), allowed="a file that an index accepts", next=AGAIN)
