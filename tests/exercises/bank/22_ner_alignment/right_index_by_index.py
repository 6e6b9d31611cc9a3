"""While loops, and places in place of pieces."""


def align(pieces, labels, *, cls_id, sep_id, unk_id, max_length):
    ids, marks, starts = [cls_id], [-100], [-1] * len(pieces)
    for number in range(len(pieces)):
        for i, piece in enumerate(pieces[number] if pieces[number] else (unk_id,)):
            if len(ids) == max_length - 1:
                break
            if i == 0:
                starts[number] = len(ids)
            ids.append(piece)
            marks.append(-100 if i else labels[number])
    return {"starts": starts, "labels": [*marks, -100], "input_ids": [*ids, sep_id]}


def tags_of_words(logits, starts, names):
    tags = ["O"] * len(starts)
    for word, start in enumerate(starts):
        if start != -1:
            row = logits[start].tolist()
            tags[word] = names[row.index(max(row))]
    return tags


def entities(tags):
    found, i = [], 0
    while i < len(tags):
        if tags[i] == "O":
            i += 1
            continue
        kind, end = tags[i][2:], i + 1
        while end < len(tags) and tags[end] == f"I-{kind}":
            end += 1
        found.append((kind, i, end))
        i = end
    return found


def entity_scores(right, predicted):
    found = said = there = 0
    for r, p in zip(right, predicted, strict=True):
        r, p = entities(r), entities(p)
        found += sum(name in r for name in p)
        said += len(p)
        there += len(r)
    precision, recall = found / max(said, 1), found / max(there, 1)
    f1 = 0.0 if found == 0 else 2 / (1 / precision + 1 / recall)
    return {"precision": precision, "recall": recall, "f1": f1}
