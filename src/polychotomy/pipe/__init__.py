"""The pipe: where code, machine, calibrator, decoder and tempering meet."""
