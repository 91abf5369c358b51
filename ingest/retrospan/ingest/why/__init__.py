"""Why a run went as it did: rows of the views in, sentences out, each with the rows it rests on. Pure."""
