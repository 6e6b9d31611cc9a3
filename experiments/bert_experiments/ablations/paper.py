"""The paper's own figures (Devlin et al. 2018, sections 5.1 to 5.3, appendix C), in per cent unless
said otherwise: BERT-base, a million steps, development sets."""

from dataclasses import dataclass

from bert_experiments.report.figures import NOTHING


@dataclass(frozen=True)
class PaperTable:
    """Rows of figures by the name of our variant; `others` are rows that have none here."""

    title: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[float, ...]]
    others: dict[str, tuple[float, ...]]
    their_names: dict[str, str]  # of rows that the paper calls otherwise

    def row(self, variant: str) -> str:
        """The paper's figures beside a variant of ours, or of a row that has none."""
        found = {**self.rows, **self.others}.get(variant)
        if found is None:
            return NOTHING
        name = self.their_names.get(variant)
        return f"{name + ': ' if name else ''}{' · '.join(map(str, found))}"


PAPER = {
    "5": PaperTable(
        "Table 5: pretraining tasks",
        ("MNLI-m", "QNLI", "MRPC", "SST-2", "SQuAD F1"),
        {
            "BERT: both tasks": (84.4, 88.4, 86.7, 92.7, 88.5),
            "no NSP": (83.9, 84.9, 86.5, 92.6, 87.9),
            "left to right, no NSP": (82.1, 84.3, 77.5, 92.1, 77.8),
        },
        {"left to right, no NSP, + BiLSTM": (82.1, 84.1, 75.7, 91.6, 84.9)},
        {},
    ),
    "6": PaperTable(
        "Table 6: model size",
        ("perplexity", "MNLI-m", "MRPC", "SST-2"),
        {
            "1/128/4": (5.84, 77.9, 79.8, 88.4),
            "2/128/1": (5.24, 80.6, 82.2, 90.7),
            "2/128/4": (4.68, 81.9, 84.8, 91.3),
            "4/128/4": (3.99, 84.4, 86.7, 92.9),
            "4/192/6": (3.54, 85.7, 86.9, 93.3),
        },
        {"24/1024/16": (3.23, 86.6, 87.8, 93.7)},
        {
            "1/128/4": "3/768/12",
            "2/128/1": "6/768/3",
            "2/128/4": "6/768/12",
            "4/128/4": "12/768/12",
            "4/192/6": "12/1024/16",
        },
    ),
    "8": PaperTable(
        "Table 8: masking",
        ("MNLI, fine-tuned", "NER, fine-tuned", "NER, features"),
        {
            "80/10/10": (84.2, 95.4, 94.9),
            "100/0/0": (84.3, 94.9, 94.0),
            "80/0/20": (84.1, 95.2, 94.6),
            "80/20/0": (84.4, 95.2, 94.7),
            "0/20/80": (83.7, 94.8, 94.6),
            "0/0/100": (83.6, 94.9, 94.6),
        },
        {},
        {},
    ),
    "figure 5": PaperTable("Figure 5: number of training steps", (), {}, {}, {}),
    "5-few": PaperTable("Table 5 and Figure 5: questions with fewer labels", (), {}, {}, {}),
}
