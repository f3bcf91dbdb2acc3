use super::*;
use crate::args::OwnedArgs;

fn parse(line: &str) -> Result<RequestArgs, String> {
    let args: OwnedArgs = line.split(' ').collect();
    RequestArgs::parse(args.as_args())
        .map_err(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[test]
fn id_and_attempt_stand_before_the_command() {
    let run = |is_again| RequestArgs::Run {
        client: 7,
        sequence: u64::MAX,
        is_again,
    };
    let line = |attempt| format!("REQUEST 007 {} {attempt} INCR k", u64::MAX);
    assert_eq!(parse(&line("FIRST")), Ok(run(false)));
    assert_eq!(parse(&line("again")), Ok(run(true)));
    assert_eq!(parse("request now"), Ok(RequestArgs::Now));
}

#[test]
fn what_is_no_id_is_refused_with_what_it_should_be() {
    for (line, word) in [
        ("REQUEST", "needs"),
        ("REQUEST 1 2 FIRST", "needs"),
        ("REQUEST NOW 1", "needs"),
        ("REQUEST 0 2 FIRST INCR k", "from 1 on"),
        ("REQUEST +1 2 FIRST INCR k", "from 1 on"),
        ("REQUEST 1 18446744073709551616 FIRST INCR k", "64 bits"),
        ("REQUEST 1 -2 FIRST INCR k", "64 bits"),
        ("REQUEST 1 2 TWICE INCR k", "AGAIN"),
    ] {
        let error = parse(line).unwrap_err();
        assert!(error.contains(word), "{line}: {error}");
    }
}
