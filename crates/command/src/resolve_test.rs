use super::*;
use crate::args::OwnedArgs;
use crate::table::CommandId;

fn resolved(line: &str) -> Result<CommandId, String> {
    let request: OwnedArgs = line.split(' ').collect();
    let spec = resolve(request.as_args());
    spec.map(|spec| spec.id).map_err(|error| error.to_string())
}

fn positions(line: &str) -> Vec<usize> {
    let request: OwnedArgs = line.split(' ').collect();
    let spec = resolve(request.as_args()).unwrap();
    keys(spec, request.as_args()).collect()
}

#[test]
fn request_is_resolved_to_its_subcommand() {
    assert_eq!(resolved("GeT k"), Ok(CommandId::Get));
    assert_eq!(resolved("client LIST"), Ok(CommandId::ClientList));
    assert_eq!(
        resolved("cluster meet 1.2.3.4 5"),
        Ok(CommandId::ClusterAdmin)
    );
}

#[test]
fn what_is_unknown_is_quoted() {
    let cases = [
        (
            "foo a b",
            "ERR unknown command 'foo', with args beginning with: 'a' 'b' ",
        ),
        (
            "foo",
            "ERR unknown command 'foo', with args beginning with: ",
        ),
        (
            "client foo",
            "ERR unknown subcommand 'foo'. Try CLIENT HELP.",
        ),
        (
            "client",
            "ERR wrong number of arguments for 'client' command",
        ),
        ("get", "ERR wrong number of arguments for 'get' command"),
        (
            "client id more",
            "ERR wrong number of arguments for 'client|id' command",
        ),
    ];
    for (line, error) in cases {
        assert_eq!(resolved(line), Err(error.to_owned()), "{line}");
    }
}

#[test]
fn quotes_are_cut_at_128_bytes_in_all() {
    let long = "x".repeat(300);
    let error = resolved(&format!("{long} {long} {long}")).unwrap_err();
    let shown = "x".repeat(128);
    assert_eq!(
        error,
        format!("ERR unknown command '{shown}', with args beginning with: '{shown}' ")
    );
}

#[test]
fn keys_are_where_the_specs_say() {
    assert_eq!(positions("get k"), [1]);
    assert_eq!(positions("mget a b c"), [1, 2, 3]);
    assert_eq!(positions("mset a 1 b 2"), [1, 3]);
    assert_eq!(positions("bitop and to a b"), [2, 3, 4]);
    assert_eq!(positions("rename a b"), [1, 2]);
    assert_eq!(positions("object encoding k"), [2]);
    assert_eq!(positions("memory usage k samples 5"), [2]);
    assert!(positions("ping").is_empty());
}

#[test]
fn key_that_no_record_holds_is_refused() {
    let key = vec![b'k'; KEY_BYTES_MAX + 1];
    let request: OwnedArgs = [&b"mget"[..], b"a", &key].iter().collect();
    let spec = resolve(request.as_args()).unwrap();
    let error = check_key_lengths(spec, request.as_args()).unwrap_err();
    assert!(error.text().contains("65536 bytes long"), "{error}");
}
