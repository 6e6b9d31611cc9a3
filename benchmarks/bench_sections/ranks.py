"""A rank of a training step of level 3 on several processes: `torchrun … FOLDER ROUNDS`.

Every rank writes its seconds and its memory to FOLDER/rank-N.json.
"""

import json
import sys
import time
from pathlib import Path

import bert_paper  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

# isort: split
import torch

from bench_sections.levels import ADAM, read
from bench_sections.machine import forget_peak, peak_resident, resident
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_paper.model import BertForPreTraining, load_arrays
from bert_paper.optimizer import make_optimizer
from bert_paper.training import distribute, training_step
from bert_run.device import Ranks, join


def part_of(batch: dict[str, torch.Tensor], ranks: Ranks) -> dict[str, torch.Tensor]:
    rows = len(batch["input_ids"])
    share = torch.arange(rows).tensor_split(ranks.size)[ranks.rank]
    return {name: tensor[share] for name, tensor in batch.items()}


def main() -> None:
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    with join("cpu") as (ranks, _):
        at_rest = resident()
        config, weights, batch = read(folder)
        model = BertForPreTraining(config)
        load_arrays(model, weights)
        use_cpu_kernels(model)
        optimizer = make_optimizer(model.train(), ADAM, name="adamw")
        distributed, rows = distribute(model, "ddp", ranks), len(batch["input_ids"])
        part, seconds = part_of(batch, ranks), []
        for number in range(rounds + 1):
            ranks.barrier()
            begin = time.perf_counter()
            training_step(
                distributed, optimizer, part, precision=torch.float32,
                max_grad_norm=ADAM.max_grad_norm, ranks=ranks, pair_count=rows,
            )  # fmt: skip
            if number:
                seconds.append(time.perf_counter() - begin)
            else:
                forget_peak()
        found = {"seconds": seconds, "peak": peak_resident() - at_rest}
        (folder / f"rank-{ranks.rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
