"""Table 7 of the paper: BERT frozen, a BiLSTM on the vectors of its layers."""
