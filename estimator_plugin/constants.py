"""Names and limits that users of the Rec SDK know (`mx_rec.constants.constants`), same values."""

ASCEND_GLOBAL_HASHTABLE_COLLECTION = "ASCEND_GLOBAL_HASHTABLE_COLLECTION"
ASCEND_SPARSE_LOOKUP_LOCAL_EMB = "ASCEND_SPARSE_LOOKUP_LOCAL_EMB"
ASCEND_SPARSE_LOOKUP_ID_OFFSET = "ASCEND_SPARSE_LOOKUP_ID_OFFSET"
ASCEND_TIMESTAMP = "ASCEND_TIMESTAMP"

NO_KEY = -1  # The one reserved id: "no id here". It reads as zeros and takes no gradient.
NO_ADDRESS = -1  # The address of a key without a row.

MAX_DIM = 8192
MAX_VOCABULARY = 10**9
MAX_BUCKETS = 4096
