"""Whose hand-in it is: names as people write them, and as file managers, Colab and Moodle change them."""

import csv
import itertools
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

from ..lessons import Refused

ATTEMPT = re.compile(r"_attempt_[\d-]+")  # Blackboard's, behind the id
MOODLE = re.compile(r"_(\d+)_assignsubmission_")  # in the name of a student's folder, behind the name: the participant
WORDS = """copy copie copia cópia còpia kopie kopia kopi kopio kopija kópia kopya másolat koopia
копия копія копие αντίγραφο نسخة העתק 副本 拷贝 複製 复制 コピー 사본 복사본"""
COPY = rf"(?:{'|'.join(WORDS.split())})"
OF = "(?:of|von|de|di|do|van|av|af|z)"
IN_FRONT = re.compile(rf"(?i)(?<![^\W_]){COPY} {OF}(?: |(?=_))")  # Copy of x, Kopie von x
BEHIND = rf"(?: ?[-–—]? ?\(?(?:[^\W\d_]+ |\d\w\w )?(?:の|的)?{COPY}\)?(?: ?\d+)?(?: ?\(\d+\))?| \d\d?)"  # x - Kopie (2)
LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"})  # with no accent to leave out


class Listed(NamedTuple):
    """Somebody on the roster: the id and the names as they stand there."""

    id: str
    first: str
    last: str

    @property
    def name(self) -> str:
        return full(self.first, self.last) or self.id


def full(first: str | None, last: str | None) -> str:
    return " ".join(filter(None, (first, last)))


def as_folder(text: str) -> str:
    """Free text as the name of one folder, on any system; two spellings of a letter become one."""
    return re.sub(r"[^\w.@-]+", "_", unicodedata.normalize("NFC", text)).strip("_-. ")


def student_of(where: Path, lesson: str) -> tuple[str, str]:
    """Whose file this is: the name of the folder (or zip) that it is in, or what its own name says beside the lesson's.

    As a name for a folder, with Moodle's number behind it if there is one (two students may have one name), and as it
    is written.
    """
    name = unicodedata.normalize("NFC", where.parts[0] if len(where.parts) > 1 else where.stem)
    name = ATTEMPT.sub(" ", IN_FRONT.sub(" ", name))
    name = re.sub(rf"(?i){lesson}(?:{BEHIND}(?![^\W_]))*|(?<=[^\W_]){BEHIND}$(?<!\d)|\(\d+\)", " ", name)
    name, number, *_ = *MOODLE.split(name.encode("utf-8", "replace").decode()), ""
    if not re.search(r"[^\W_]", name):
        raise Refused("whose is it? Put it into a folder with the student's name")
    key = as_folder(name)[:60].strip("_-. ")  # no system has longer names of files than 255 bytes
    return "_".join(filter(None, [key, number])), name.strip("_-. ")


def free(key: str, name: str, known: dict[str, str]) -> str:
    """The key, or with a number behind it if it is another one's: "Ann Lee" and "Ann_Lee" are two students."""
    taken = {other.casefold(): whose for other, whose in known.items()}
    keys = (f"{key}-{n}" if n > 1 else key for n in itertools.count(1))
    return next(key for key in keys if taken.get(key.casefold(), name) == name)


def roster(path: Path) -> dict[str, Listed]:
    """Who is on it, by the names of their folders: a CSV file with the columns of nbgrader's import.

    These are id, and first_name and last_name or none.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise Refused(f"--roster {path}: expected UTF-8, got other bytes; in Excel, save it as `CSV UTF-8`") from error
    except OSError as error:
        raise Refused(f"--roster {path}: cannot be read as text ({type(error).__name__})") from error
    rows = csv.DictReader(lines, delimiter=";" if lines and ";" in lines[0] else ",")
    if "id" not in (rows.fieldnames or []):
        raise Refused(f"--roster {path}: expected a column `id` in its first line, got {rows.fieldnames}")
    found: dict[str, Listed] = {}
    for row in rows:
        if not (own := row["id"]):
            continue
        one = Listed(own, row.get("first_name") or "", row.get("last_name") or "")
        key = as_folder(own)
        if not key:
            raise Refused(f"--roster {path}: expected a letter or a digit in each id, got {own!r}")
        if found.setdefault(key, one) != one:
            raise Refused(f"--roster {path}: {found[key]} and {one} would be one student; give them ids that differ")
    return found


def spellings(name: str) -> tuple[str, str, str, str]:
    """A name to compare: as it is; without accents; in any order, with ue for ü or not; and as one word.

    Moodle takes apostrophes out of names, others put a space there. The word begins where it comes first in the
    alphabet, so the surname may come first.
    """
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", name).casefold())
    bare = unicodedata.normalize("NFKD", " ".join(words)).translate(LETTERS)
    bare = "".join(letter for letter in bare if not unicodedata.combining(letter))
    plain = re.sub(r"([aou])e", r"\1", bare).split()
    joined = "".join(plain)
    turned = min(joined[i:] + joined[:i] for i in range(len(joined) or 1))
    return " ".join(words), bare, " ".join(sorted(plain)), turned


def fitting(key: str, name: str, listed: dict[str, Listed]) -> tuple[str | None, bool]:
    """Whose id on the roster a hand-in has, or else whose name, in the closest spelling; and whether it is the id.

    An id may stand in the name as a word of its own, if it is the only one there.
    """
    text = as_folder(name).casefold()
    same = [one for one in listed if one.casefold() in (key.casefold(), text)]
    same = same or [one for one in listed if len(one) > 2 and holds(text, one.casefold())]
    if len(same) == 1:
        return same[0], True
    same = namesakes(name, listed)
    return (same[0] if len(same) == 1 else None), False


def holds(text: str, word: str) -> bool:
    """Whether a word stands in a text, between other characters than letters and digits; a number with zeros or not."""
    return bool(re.search(rf"(?<![^\W_])0*{re.escape(word.lstrip('0') or word)}(?![^\W_])", text))


def namesakes(name: str, listed: dict[str, Listed]) -> list[str]:
    """The ids of all on the roster who have this name, in the closest spelling that anyone has."""
    for level in range(4):
        if same := [one for one, known in listed.items() if spellings(known.name)[level] == spellings(name)[level]]:
            return same
    return []


def owners(
    people: dict[tuple[str, str], str], listed: dict[str, Listed], numbers: dict[str, str]
) -> tuple[dict[tuple[str, str], str], dict[str, list[tuple[str, str]]]]:
    """Who on the roster each hand-in belongs to; and by those whose they might be, the hand-ins that stay strangers'.

    `people` are folder names and names of who handed in, with Moodle's numbers; `numbers` those that somebody on the
    roster had before. Of two with one name neither is taken for the one on the roster, unless id or number says so.
    """
    fits: dict[str, dict[tuple[str, str] | None, bool]] = {}
    for (key, name), number in people.items():
        own, sure = fitting(key, name, listed)
        if own:
            fits.setdefault(own, {})[key, name] = sure or bool(number and number == numbers.get(own))
            if number and numbers.get(own, number) != number:
                fits[own][None] = True  # who had it before
    found, unclear = {}, {}
    for own, keys in fits.items():
        clear = [key for key, sure in keys.items() if sure] or [*keys] * (len(keys) == 1)
        found |= dict.fromkeys(filter(None, clear), own)
        if rest := [key for key in keys if key not in clear]:
            unclear[own] = rest
    return found, unclear
