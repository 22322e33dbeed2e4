"""The nonstationary environments archive of de Souza et al., in the copy of ATISLabs/SCARGC.jl."""

from __future__ import annotations

from driftway.producers.streams.catalogue.entry import DownloadSource, Entry

COPY = "https://raw.githubusercontent.com/ATISLabs/SCARGC.jl/84368f3bd275ad86efcbf3f7ba2bd97e1aab2c8d/src/datasets/"
LICENCE = "none stated; published for research, cite the paper"
CITATION = (
    "V. M. A. Souza, D. F. Silva, J. Gama, G. E. A. P. A. Batista: Data stream classification guided by clustering "
    "on nonstationary environments and extreme verification latency. SDM 2015, 873-881"
)


def _read(name: str, about: str, file: str, shape: tuple[int, int, int], sums: tuple[int, str, str]) -> Entry:
    """An entry whose file was read; shape: rows, features, classes; sums: bytes, SHA-256 of file and of rows."""
    rows, features, classes = shape
    size, sha256, rows_sha256 = sums
    return Entry(
        name=name,
        about=about,
        sources=(DownloadSource(f"{COPY}{file}", f"sha256:{sha256}", size),),
        rows=rows,
        features=features,
        task="classification",
        licence=LICENCE,
        citation=CITATION,
        verified="rows",
        labels=tuple(str(label) for label in range(1, classes + 1)),
        rows_sha256=rows_sha256,
    )


def _unread(name: str, about: str, file: str, shape: tuple[int, int, int], blob: str) -> Entry:
    """An entry whose file was never read; git gives its blob id."""
    rows, features, classes = shape
    return Entry(
        name=name,
        about=about,
        sources=(DownloadSource(f"{COPY}{file}", f"git:{blob}"),),
        rows=rows,
        features=features,
        task="classification",
        licence=LICENCE,
        citation=CITATION,
        verified="checksum",
        labels=tuple(str(label) for label in range(1, classes + 1)),
    )


NONSTATIONARY: tuple[Entry, ...] = (
    _read(
        "keystroke",
        "four users typing the same password, in the order of their sessions",
        "real/keystroke.txt",
        (1_600, 10, 4),
        (
            114_833,
            "adb61d7945185ed33f28e29d097a2dbed96c07d95d67f329c6db740d0c0ea845",
            "119a4401ab8eca90e60bc895df2bc4d61a4ce8aadd9333493a65636e52b0b497",
        ),
    ),
    _read(
        "1CDT",
        "one of two classes moves diagonally",
        "synthetic/1CDT.txt",
        (16_000, 2, 2),
        (
            269_375,
            "fc4c1b0c3c113b5755c2c40f76a20d8973cb2ac5557effb19ff2508fb399bbf9",
            "86645ba968c3db60fae60a08693d72ed7775bd931eeb2daf9b47a3a7df77c646",
        ),
    ),
    _read(
        "1CHT",
        "one of two classes moves horizontally",
        "synthetic/1CHT.txt",
        (16_000, 2, 2),
        (
            266_372,
            "d45be2b78cf3e46245f4878fa05d49e124ee48ff4e3990b2fd0d8f8e78f93507",
            "260c45459bb90e98760c605813b8c7e3ee8afe7eafb840c3626ed09164bd5245",
        ),
    ),
    _read(
        "1CSurr",
        "one class moves around the other",
        "synthetic/1CSurr.txt",
        (55_283, 2, 2),
        (
            896_093,
            "e8dcbc79d8f220a52ca42de2eeeaade6fa5dcf4ffbe3b5d1ea1d565092d199c5",
            "231ffcd081ba8d733ad380769fdbfe2c94ced6d86d97b8254a0b151a0e392f04",
        ),
    ),
    _read(
        "2CDT",
        "two classes move diagonally",
        "synthetic/2CDT.txt",
        (16_000, 2, 2),
        (
            253_864,
            "a1bcb438c57f2f05dbf0bf6a45eb214f14469e297aad1a3cc5da11b8a8fb6130",
            "5080a622e11dd60224736e26ecadf327f1a0ce506960aa44db7fc32b93636b7e",
        ),
    ),
    _read(
        "2CHT",
        "two classes move horizontally",
        "synthetic/2CHT.txt",
        (16_000, 2, 2),
        (
            258_479,
            "e76ed887b84b1679164a0c8cabbd8761636d878ba98a73be13d11633bb20d617",
            "5d223c74040dd6d808f13440362c532c607ac25a1b9597fdf72835e1dd02f73d",
        ),
    ),
    _read(
        "4CR",
        "four classes rotate",
        "synthetic/4CR.txt",
        (144_400, 2, 4),
        (
            2_443_802,
            "acedd3782dca0d37970e0807b1808c16ff9708628b0ec430a6e30cef4a5494d4",
            "3e9f878f68cfbd16179ca278b96414903ebc6ed634cadde1f554360a16af290f",
        ),
    ),
    _read(
        "4CRE-V1",
        "four classes rotate and expand, version 1",
        "synthetic/4CRE-V1.txt",
        (125_000, 2, 4),
        (
            2_193_985,
            "5755b25347cacbe8fab38c7eb88d153701aab4f353a1d75373e232c040e3fd80",
            "72afef91655b74469222b34ef1000921f19cb8f2871b81b8077187810784e28d",
        ),
    ),
    _read(
        "4CRE-V2",
        "four classes rotate and expand, version 2",
        "synthetic/4CRE-V2.txt",
        (183_000, 2, 4),
        (
            3_212_409,
            "cea60d285d6b8718a96130b9c26d736bd9cf85da69048db745aa92ca78e8b695",
            "b209d7d695300d468ba2c2c9a9512b59cba66917f1687a6dd12a92e619c16dcb",
        ),
    ),
    _read(
        "4CE1CF",
        "four classes expand, one stays",
        "synthetic/4CE1CF.txt",
        (173_250, 2, 5),
        (
            2_828_027,
            "8a75dd9f1a05115e35fab925af5d2de025ad88998e2616675bb6518d03349fe0",
            "952b866c53a70b6e097f5539a3a7c0ceea992ea24c5ce8ebf7a7d04c49a4bf38",
        ),
    ),
    _read(
        "5CVT",
        "five classes move vertically",
        "synthetic/5CVT.txt",
        (24_000, 2, 5),
        (
            404_295,
            "0f2f65706de4bef29d954921145a789c93ca8a263bc62032e5278853d32021c4",
            "0e784f2cd2a50da8a96d884e81ca5bffa2a50122431ea375c8c38377dab037c3",
        ),
    ),
    _read(
        "FG-2C-2D",
        "four Gaussians of two classes",
        "synthetic/FG_2C_2D.txt",
        (200_000, 2, 2),
        (
            3_173_775,
            "a81234a41c967605cf07a68562d362b4fc4ae3654a398755481328f54720ea18",
            "6c82df3f5d0d547ff8daed1f273012df255702448bde7695e679bdda2602261c",
        ),
    ),
    _read(
        "GEARS-2C-2D",
        "two turning gears",
        "synthetic/GEARS_2C_2D.txt",
        (200_000, 2, 2),
        (
            3_727_969,
            "d0cabc8857b6bbc49dcc9f9b6e85aa4665f13b1a958e0d728280d426c28ae7d3",
            "f5b4dbd5d8d27a382d85b485a6560fcfd6c03a3c98cf92192b19b0fd47ef3814",
        ),
    ),
    _read(
        "MG-2C-2D",
        "two multimodal Gaussian classes",
        "synthetic/MG_2C_2D.txt",
        (200_000, 2, 2),
        (
            3_166_876,
            "2a4d93a516c4eb0a5eb93266f5d6b253d9cb457dcce35dac255a3a6b898a9630",
            "8ca772a9c7d996240e3bb7ebbec7eaa34cc1e350ec50933fb21cb2b1f0bf1c24",
        ),
    ),
    _read(
        "UG-2C-2D",
        "two unimodal Gaussian classes",
        "synthetic/UG_2C_2D.txt",
        (100_000, 2, 2),
        (
            1_584_893,
            "3e17e46d85a36f98505e7eb62416f6ff06f5a53463d275af2b8c2ebbca39aff6",
            "d29f01c200a8eafd5fceb48b54c70ed0cba2edc2265f89ab116c08ddb2c1a1b4",
        ),
    ),
    _unread(
        "UG-2C-3D",
        "two unimodal Gaussian classes in 3 dimensions",
        "synthetic/UG_2C_3D.txt",
        (200_000, 3, 2),
        "272399c611f7ce3022e956178216b8eb2f851e18",
    ),
    _unread(
        "UG-2C-5D",
        "two unimodal Gaussian classes in 5 dimensions",
        "synthetic/UG_2C_5D.txt",
        (200_000, 5, 2),
        "09d6fe02554a0797e4810773eab992f80e11ea88",
    ),
)
