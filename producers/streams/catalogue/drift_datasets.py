"""Streams of vlosing/driftDatasets: its authors' own, and their copies of well-known ones."""

from __future__ import annotations

from driftway.producers.streams.catalogue.entry import DownloadSource, Entry

RELEASE = "https://raw.githubusercontent.com/vlosing/driftDatasets/01d08dec716870a36ea793e26e7e896ba921fe5d/"
LICENCE = "none stated; cite the paper"
LOSING = (
    "V. Losing, B. Hammer, H. Wersing: KNN classifier with self adjusting memory for heterogeneous concept drift. "
    "ICDM 2016, 291-300"
)
ELWELL = (
    "R. Elwell, R. Polikar: Incremental learning of concept drift in nonstationary environments. "
    "IEEE Trans. Neural Networks 22(10), 2011, 1517-1531"
)


def _labels(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count)))


LOSING_STREAMS: tuple[Entry, ...] = (
    Entry(
        name="sea_nse",
        about="SEA, Elwell and Polikar's copy: 4 sudden concepts of 12,500 rows, 10 % label noise",
        sources=(
            DownloadSource(
                f"{RELEASE}artificial/sea/SEA_training_data.csv",
                "sha256:dd2d7d5d08fa9c60ae4cb460f096e15e714cab4fa882b9a359eb24bd095f9f91",
                1_049_885,
            ),
            DownloadSource(
                f"{RELEASE}artificial/sea/SEA_training_class.csv",
                "sha256:03ee15105c454a4359724109feda3b3117c70115251f30ae4ca43549ef113a40",
                100_000,
            ),
        ),
        rows=50_000,
        features=3,
        task="classification",
        licence=LICENCE,
        citation=ELWELL,
        verified="rows",
        labels=("0", "1"),
        rows_sha256="35e5f2a20b49711b9b3ff74b07f0fceef4cb597bde4b2f98e9eb3c87f9110a08",
    ),
    Entry(
        name="weather",
        about="rain or not on a day at Offutt Air Force Base, Bellevue, Nebraska, 1949-1999",
        sources=(
            DownloadSource(
                f"{RELEASE}realWorld/weather/NEweather_data.csv",
                "sha256:e38ef95890ec0df3daee0493e92e59c38ae1c27cd01c4805367f189d52dfeed9",
                664_639,
            ),
            DownloadSource(
                f"{RELEASE}realWorld/weather/NEweather_class.csv",
                "sha256:90f39b754a9c95fc34047beb41752ebeb6fa1cde4e2d03fad3d3c5a46aee360f",
                36_318,
            ),
        ),
        rows=18_159,
        features=8,
        task="classification",
        licence=LICENCE,
        citation=ELWELL,
        verified="rows",
        labels=("0", "1"),
        rows_sha256="efb7c8fbc0ea27a4e71b45f12ee48d23d9de22afe496d41b9565f1f2f7149972",
    ),
    Entry(
        name="movingSquares",
        about="four squares, one class each, that move side by side; the row index predicts the label",
        sources=(
            DownloadSource(
                f"{RELEASE}artificial/movingSquares/movingSquares.data",
                "sha256:aa2952968b0e821672db12e1d04b3ea588cf965871d7e3f76767b38761c4e100",
                4_000_000,
            ),
            DownloadSource(
                f"{RELEASE}artificial/movingSquares/movingSquares.labels",
                "sha256:0425ff3c9d279917fe53c5189c91a58283c4616fe747c8879f2dfd6cb576d954",
                400_000,
            ),
        ),
        rows=200_000,
        features=2,
        task="classification",
        licence=LICENCE,
        citation=LOSING,
        verified="rows",
        labels=_labels(4),
        separator=" ",
        rows_sha256="4795508c630af3b6db4ac06faa7f96c3272f37a518a0ffccaf703c04635407a8",
    ),
    Entry(
        name="transientChessboard",
        about="virtual drift: fields of a chessboard of eight classes shown one by one",
        sources=(
            DownloadSource(
                f"{RELEASE}artificial/chess/transientChessboard.data",
                "sha256:0b3167b4b32a6937880f86c705a9090de9752f98dcf23204e6aa60914cdd0062",
                3_999_999,
            ),
            DownloadSource(
                f"{RELEASE}artificial/chess/transientChessboard.labels",
                "sha256:bf20f3e2ff1b53b7e3b69368b60850a85fa2ab7a390a631f657f68438a362f51",
                399_999,
            ),
        ),
        rows=200_000,
        features=2,
        task="classification",
        licence=LICENCE,
        citation=LOSING,
        verified="rows",
        labels=_labels(8),
        separator=" ",
        rows_sha256="0d661ade506582ff1d9afce45084b16d5986091f7c8fad785068f77b1df5c0b9",
    ),
    Entry(
        name="interchangingRBF",
        about="15 Gaussians that swap places every 3,000 rows",
        sources=(
            DownloadSource(
                f"{RELEASE}artificial/rbf/interchangingRBF.data",
                "sha256:268f1d3086949ccf2de3f7c4d3d6089002f38c5ede8d537186d16d2bddc66216",
                4_012_984,
            ),
            DownloadSource(
                f"{RELEASE}artificial/rbf/interchangingRBF.labels",
                "sha256:f2163890a0aea3a48638c7cb8be4a33acd27998b7e2f107528d5c87309e2e563",
                466_665,
            ),
        ),
        rows=200_000,
        features=2,
        task="classification",
        licence=LICENCE,
        citation=LOSING,
        verified="rows",
        labels=_labels(15),
        separator=" ",
        rows_sha256="0e146e86691f7ac832571b32f7912d4bba62be6d5633606d98b94ad729a0fc0c",
    ),
    Entry(
        name="outdoor",
        about="40 objects in a garden, colour histograms of a mobile's camera under changing light",
        sources=(
            DownloadSource(
                f"{RELEASE}realWorld/outdoor/outdoorStream.data",
                "sha256:53f9d793056bf60f832ded0122a9f7286ea35e42fa019d2f4b2158bf6ef4ec1b",
                582_962,
            ),
            DownloadSource(
                f"{RELEASE}realWorld/outdoor/outdoorStream.labels",
                "sha256:e2dceebd3ab87380f7d60c03d8838a07135ba661ba0d626ab519bd97d6244435",
                11_000,
            ),
        ),
        rows=4_000,
        features=21,
        task="classification",
        licence=LICENCE,
        citation="V. Losing, B. Hammer, H. Wersing: Interactive online learning for obstacle classification on a "
        "mobile robot. IJCNN 2015",
        verified="rows",
        labels=_labels(40),
        separator=" ",
        rows_sha256="07961ce6c3155e0caed2a37a071aa4ba556726fc479ea2c8888646e031755087",
    ),
    Entry(
        name="rialto",
        about="ten buildings beside the Rialto bridge on 20 days, colour histograms of a webcam",
        sources=(
            DownloadSource(f"{RELEASE}realWorld/rialto/rialto.data", "git:87d6693ef7acb30e1daac126ea6f5f3b4553b65f"),
            DownloadSource(
                f"{RELEASE}realWorld/rialto/rialto.labels",
                "sha256:42c7fc42363c11f9da91caf9c115b82286228c59b74b19a8977af5d2034bca97",
                164_500,
            ),
        ),
        rows=82_250,
        features=27,
        task="classification",
        licence=LICENCE,
        citation=LOSING,
        verified="checksum",
        labels=_labels(10),
        separator=" ",
    ),
    Entry(
        name="poker",
        about="poker hands, normalised, sorted so that virtual drift appears; the class is what the hand is worth",
        sources=(
            DownloadSource(f"{RELEASE}realWorld/poker/poker.data", "git:ee81b5d7ea017ed5e3dfce11c6ffb9242c62a3e8"),
            DownloadSource(
                f"{RELEASE}realWorld/poker/poker.labels",
                "sha256:7c29d40bcfbfb7aec6b558efbb0c126b7cf83cdcc13ee4128feac4b8441953a4",
                1_658_402,
            ),
        ),
        rows=829_201,
        features=10,
        task="classification",
        licence="CC BY 4.0 (the UCI original)",
        citation="R. Cattral, F. Oppacher: Poker Hand. UCI Machine Learning Repository, 2002",
        verified="checksum",
        labels=_labels(10),
        separator=" ",
    ),
)
