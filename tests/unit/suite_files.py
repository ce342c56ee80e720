"""Made files in the layouts in which the suite's data sets are published."""

import csv
import io
import json
import tarfile
import zipfile
from pathlib import Path


def pub_rows(part, n=40):
    """Rows of one of PUB's tasks: two fixed options, or for task_4 four of each row's own."""
    for number in range(n):
        if part == "task_4":
            options = [f"They meant {word} {number}." for word in ("yes", "no", "perhaps", "none")]
        else:
            options = ["Direct answer", "Indirect answer"]
        direct = number % 2
        yield {
            "id": f"{part}-{number}",
            "pretext": f"Context: talk {number}.\nX: Tea?\nY: "
            + ("It is late, so I had better not" if direct else "Yes please, I would like one")
            + f" number {number}.",
            "options": options,
            "correct answer": options[direct],
        }


def write_pub(folder, part, lines=()):
    """A zip as on the hub, with these lines after the made rows."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in pub_rows(part)) + "".join(
        (line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines
    )
    path = folder / f"{part}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{part}.jsonl", text)
    return path


def write_csv(path, head, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)


def write_pstance(folder, n=20, targets=("biden", "bernie", "trump")):
    for target in targets:
        for part in ("train", "val", "test"):
            rows = [
                (
                    f"{part} {target} tweet {number}, "
                    + ("what a great and honest man" if number % 2 else "a liar who must not win"),
                    target.title(),
                    "FAVOR" if number % 2 else "AGAINST",
                )
                for number in range(n)
            ]
            write_csv(folder / f"raw_{part}_{target}.csv", ("Tweet", "Target", "Stance"), rows)
    return folder


def write_sbic(path, parts=("trn", "dev", "tst"), extra=()):
    """`SBIC.v2.tgz`, or for a folder its CSV files; labels turned round as published."""
    head = ("", "post", "targetStereotype", "hasBiasedImplication")
    files = {}
    for part in parts:
        rows = [
            (n, f"{part} post {n}, " + ("they all steal" if n % 2 else "nice weather"),
             "['are thieves']" if n % 2 else "[]", 0 if n % 2 else 1)
            for n in range(12)
        ]  # fmt: skip
        buffer = io.StringIO()
        csv.writer(buffer).writerows([head, *rows, *extra])
        files[f"SBIC.v2.agg.{part}.csv"] = buffer.getvalue()
    if path.suffix != ".tgz":
        path.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (path / name).write_text(text)
        return path
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


def write_articles(folder, extra_ids=()):
    """The repository's layout: a list of ids a split, a JSON file an article."""
    names = ("left", "center", "right")
    for kind in ("random", "media"):
        for number, part in enumerate(("train", "valid", "test")):
            ids = [f"{kind}{number}{n:02}" for n in range(9)]
            lines = ["ID\tbias", *(f"{one}\t{int(one[-1]) % 3}" for one in [*ids, *extra_ids])]
            path = folder / "data" / "splits" / kind / f"{part}.tsv"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines) + "\n")
            for one in ids:
                bias = int(one[-1]) % 3
                article = {"ID": one, "content": f"News {one} of the {names[bias]}.", "bias": bias}
                target = folder / "data" / "jsons" / f"{one}.json"
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(json.dumps(article))
    return folder


def real(name):
    """A folder of the real data sets beside the project, or None."""
    folder = Path(__file__).parents[3] / "shared" / "data" / name
    return folder if folder.is_dir() else None
