//! The rules of docs/protocol.md that this room keeps, each as a schedule that breaks the promise without it.

mod catch_up_test;
mod commit_test;
mod copy_test;
mod golden_test;
mod hand_over_test;
mod hostile_test;
mod lag_test;
mod merge_test;
mod refused_test;
mod restart_test;
mod split_test;
mod stream_test;
mod suspicion_test;
mod view_test;
