use super::*;
use crate::args::OwnedArgs;

fn request(line: &str) -> OwnedArgs {
    line.split(' ').collect()
}

#[test]
fn shutdown_options_must_not_contradict() {
    let parse = |line: &str| ShutdownArgs::parse(request(line).as_args());
    let parsed = parse("shutdown NOSAVE now force").unwrap();
    assert_eq!(
        (parsed.saves, parsed.is_now, parsed.is_forced),
        (Some(false), true, true)
    );
    for line in [
        "shutdown save nosave",
        "shutdown nosave save",
        "shutdown abort now",
        "shutdown x",
    ] {
        assert_eq!(parse(line), Err(ErrorReply::SYNTAX), "{line}");
    }
    assert!(parse("shutdown abort").unwrap().is_abort);
}

#[test]
fn slowlog_shows_ten_entries_or_as_many_as_asked() {
    let parse = |line: &str| SlowlogCommand::parse(CommandId::SlowlogGet, request(line).as_args());
    assert_eq!(parse("slowlog get"), Ok(SlowlogCommand::Get(Some(10))));
    assert_eq!(parse("slowlog get 0"), Ok(SlowlogCommand::Get(Some(0))));
    assert_eq!(parse("slowlog get -1"), Ok(SlowlogCommand::Get(None)));
}

#[test]
fn wait_refuses_a_negative_timeout() {
    let parse = |line: &str| WaitArgs::parse(request(line).as_args());
    assert_eq!(
        parse("wait -3 0").map(|wait| (wait.replicas, wait.timeout_ms)),
        Ok((-3, 0))
    );
    assert_eq!(
        parse("wait 0 -1"),
        Err(ErrorReply::constant("ERR timeout is negative"))
    );
}

#[test]
fn flush_is_sync_unless_told() {
    let parse = |line: &str| parse_flush(request(line).as_args());
    assert_eq!(parse("flushdb"), Ok(()));
    assert_eq!(parse("flushdb async"), Ok(()));
    assert_eq!(parse("flushdb sync async"), Err(ErrorReply::SYNTAX));
}
