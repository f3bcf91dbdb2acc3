//! Any bytes as a message that a brick has for a brick of another node: no panic.

/// See the module.
pub(super) fn run(input: &[u8]) {
    // Not to be read is an answer.
    let _ = brickyard_brick::reads_message(input);
}

/// Requests of each kind of work, and a reply.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let command = |arguments: &[&str]| {
        let mut out = (arguments.len() as u32).to_le_bytes().to_vec();
        for argument in arguments {
            out.extend_from_slice(&(argument.len() as u32).to_le_bytes());
            out.extend_from_slice(argument.as_bytes());
        }
        out
    };
    let request = |work: Vec<u8>| {
        let mut out = vec![1];
        out.extend_from_slice(&9u64.to_le_bytes());
        out.extend_from_slice(&4u32.to_le_bytes());
        out.extend_from_slice(&1u32.to_le_bytes());
        out.push(1);
        out.extend(work);
        out
    };
    let mut reply = vec![2];
    reply.extend_from_slice(&9u64.to_le_bytes());
    reply.extend_from_slice(b"\0+OK\r\n");
    let identified = [
        &[3][..],
        &[1; 8],
        &[2; 8],
        &[1],
        &command(&["SET", "k", "v"]),
    ];
    let share = [&[2][..], &[5; 8], &command(&["DBSIZE"])];
    let transaction = [
        &[1][..],
        &1u32.to_le_bytes(),
        &command(&["SET", "k", "v"]),
        &[0; 4],
    ];
    vec![
        request([&[0][..], &command(&["GET", "k"])].concat()),
        request(identified.concat()),
        request(share.concat()),
        request(transaction.concat()),
        reply,
    ]
}
