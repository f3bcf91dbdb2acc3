//! Any bytes as what a node says to another: hellos and answers, messages of the control plane, and the frames that
//! they come in. No panic; what is read is written as it was.

use brickyard_server::decoders;

/// See the module.
pub(super) fn run(input: &[u8]) {
    for decode in [decoders::hello, decoders::answer, decoders::message] {
        if let Some(again) = decode(input) {
            assert_eq!(decode(&again), Some(again), "written as it was read");
        }
    }
    let Some(body) = decoders::framed(input) else {
        return;
    };
    assert!(body.len() < input.len());
    run(&body);
}

/// Hellos, answers, messages; bodies and frames.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    decoders::node_messages()
}
