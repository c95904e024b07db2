"""The hook of synchronous training: tokens that keep replicas in step, a thread that updates."""

import threading

import tensorflow as tf

_TOKENS = "sync_token_q"  # The name TensorFlow's SyncReplicasOptimizer gives its queue.
_SESSIONS = "sync_sessions_q"


class SyncHook(tf.compat.v1.train.SessionRunHook):
    """What `tf.compat.v1.train.SyncReplicasOptimizer.make_session_run_hook` does, in three ways
    otherwise.

    A replica waits for a token that the chief hands out with each update. TensorFlow hands out some
    in advance, so that replicas run ahead of the updates; here that is done only where an update
    needs more gradients than there are replicas.

    When a chief's session is made anew, the gradients that others have handed in for the next
    update may be lost: restored rows forget them, and a server that has made updates since the
    checkpoint takes those of its step for late ones. Who handed them in would wait forever, so each
    gets a token. Whether there was a session before, every server that outlived it knows; where
    none did, nothing is late.

    The thread that makes the updates waits for gradients that never come when training ends.
    TensorFlow lets it wait two minutes; here it ends with the session.
    """

    def __init__(self, sync, global_step, servers, is_chief, required, total):
        """`servers` are the devices that gradients are handed in at."""
        self._sync = sync
        self._global_step = global_step
        self._servers = servers
        self._is_chief = is_chief
        self._others = total - 1
        self._in_advance = max(0, required - total)

    def begin(self):
        self._not_ready = self._sync.ready_for_local_init_op
        if not self._is_chief:
            self._initialize = self._sync.local_step_init_op
            return
        self._initialize = self._sync.chief_init_op
        (self._update,) = self._sync.get_chief_queue_runner().enqueue_ops
        self._first_tokens = self._sync.get_init_tokens_op(self._in_advance)
        step_type = self._global_step.dtype.base_dtype
        with tf.device(self._global_step.device):
            tokens = tf.queue.FIFOQueue(-1, step_type, (), shared_name=_TOKENS)
            self._wake_others = tokens.enqueue_many(tf.fill([self._others], self._global_step))
        earlier, count = [], []
        for server in self._servers:
            with tf.device(server):  # One entry for each session of a chief.
                sessions = tf.queue.FIFOQueue(-1, step_type, (), shared_name=_SESSIONS)
                earlier.append(sessions.size())
                count.append(sessions.enqueue(self._global_step))
        self._earlier_sessions = tf.add_n(earlier)
        self._count_session = tf.group(count)

    def after_create_session(self, session, coord):
        not_ready = session.run(self._not_ready)
        if not_ready.size:
            raise RuntimeError("SyncReplicasOptimizer: not initialized yet: %s" % not_ready)
        session.run(self._initialize)
        if self._is_chief:
            if session.run(self._earlier_sessions) > 0:
                session.run(self._wake_others)
            session.run(self._count_session)
            session.run(self._first_tokens)
            threading.Thread(target=self._make_updates, args=[session, coord], daemon=True).start()

    def _make_updates(self, session, coord):
        try:
            update = session.make_callable(self._update)
            while not coord.should_stop():
                update()
        except (tf.errors.OpError, RuntimeError) as error:  # RuntimeError: the session is closed.
            if not coord.should_stop():
                coord.request_stop(error)  # The training loop raises it.
