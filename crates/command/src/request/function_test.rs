use super::*;
use crate::args::OwnedArgs;
use crate::resolve;

fn refused(words: &[&str]) -> String {
    let args: OwnedArgs = words.iter().collect();
    let spec = resolve(args.as_args()).unwrap();
    let error = FunctionCommand::parse(spec.id, args.as_args()).unwrap_err();
    String::from_utf8_lossy(error.as_bytes()).into_owned()
}

fn check(words: &[&str], expected: FunctionCommand<'_>) {
    let args: OwnedArgs = words.iter().collect();
    let spec = resolve(args.as_args()).unwrap();
    let parsed = FunctionCommand::parse(spec.id, args.as_args());
    assert_eq!(parsed.unwrap(), expected, "{words:?}");
}

#[test]
fn subcommands_are_read_with_their_options() {
    use FunctionCommand as Command;
    check(&["function", "delete", "a"], Command::Delete(b"a"));
    check(&["function", "flush"], Command::Flush);
    check(&["function", "flush", "ASYNC"], Command::Flush);
    let load = |replaces| Command::Load {
        code: b"text",
        replaces,
    };
    check(&["function", "load", "text"], load(false));
    check(&["function", "load", "Replace", "text"], load(true));
    let list = |pattern, has_code| Command::List { pattern, has_code };
    check(&["function", "list"], list(None, false));
    check(
        &["function", "list", "WithCode", "LibraryName", "a*"],
        list(Some(b"a*"), true),
    );
    check(
        &["function", "restore", "x"],
        Command::Restore(b"x", RestorePolicy::Append),
    );
    check(
        &["function", "restore", "x", "Flush"],
        Command::Restore(b"x", RestorePolicy::Flush),
    );
    check(
        &["function", "restore", "x", "REPLACE"],
        Command::Restore(b"x", RestorePolicy::Replace),
    );
}

#[test]
fn options_that_there_are_not_are_refused_in_rediss_words() {
    for (words, expected) in [
        (
            &["function", "flush", "x"][..],
            "ERR FUNCTION FLUSH only supports SYNC|ASYNC option",
        ),
        (
            &["function", "Flush", "x", "y"],
            "ERR unknown subcommand or wrong number of arguments for 'Flush'. Try FUNCTION HELP.",
        ),
        (
            &["function", "load", "foo", "text"],
            "ERR Unknown option given: foo",
        ),
        (
            &["function", "list", "libraryname"],
            "ERR library name argument was not given",
        ),
        (
            &["function", "list", "withcode", "withcode"],
            "ERR Unknown argument withcode",
        ),
        (
            &["function", "restore", "x", "y"],
            "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
        ),
    ] {
        assert_eq!(refused(words), expected, "{words:?}");
    }
}

#[test]
fn keys_of_a_call_are_counted() {
    let count = |words: &[&str]| {
        let args: OwnedArgs = words.iter().collect();
        function_arguments(args.as_args())
            .map_err(|it| String::from_utf8_lossy(it.as_bytes()).into_owned())
    };
    assert_eq!(count(&["fcall", "f", "1", "k", "a"]), Ok(4));
    assert_eq!(count(&["fcall", "f", "0"]), Ok(3));
    for (number, expected) in [
        ("x", "ERR Bad number of keys provided"),
        ("-1", "ERR Number of keys can't be negative"),
        (
            "2",
            "ERR Number of keys can't be greater than number of args",
        ),
    ] {
        assert_eq!(
            count(&["fcall", "f", number, "k"]),
            Err(expected.to_owned())
        );
    }
}
