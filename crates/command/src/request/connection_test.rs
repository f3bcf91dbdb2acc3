use super::*;
use crate::args::OwnedArgs;

fn hello(line: &str) -> Result<HelloArgs<'static>, String> {
    // Leaked, so that what borrows from the request can be returned; a test is short.
    let request: &'static OwnedArgs = Box::leak(Box::new(line.split(' ').collect()));
    HelloArgs::parse(request.as_args()).map_err(|error| error.to_string())
}

#[test]
fn hello_may_log_in_and_name_the_connection() {
    let parsed = hello("HELLO 3 AUTH user secret SETNAME me").unwrap();
    assert_eq!(parsed.protocol, Some(Protocol::Resp3));
    assert_eq!(parsed.auth, Some((&b"user"[..], &b"secret"[..])));
    assert_eq!(parsed.name, Some(&b"me"[..]));
    assert_eq!(hello("hello"), Ok(HelloArgs::default()));
}

#[test]
fn hello_refuses_what_it_does_not_speak() {
    let cases = [
        ("hello 4", "NOPROTO unsupported protocol version"),
        (
            "hello two",
            "ERR Protocol version is not an integer or out of range",
        ),
        (
            "hello 2 auth user",
            "ERR Syntax error in HELLO option 'auth'",
        ),
    ];
    for (line, error) in cases {
        assert_eq!(hello(line), Err(error.to_owned()), "{line}");
    }
}

#[test]
fn auth_takes_a_password_or_user_and_password() {
    let request: OwnedArgs = "auth secret".split(' ').collect();
    assert_eq!(AuthArgs::parse(request.as_args()).unwrap().user, None);
    let request: OwnedArgs = "auth user secret".split(' ').collect();
    let parsed = AuthArgs::parse(request.as_args()).unwrap();
    assert_eq!(
        (parsed.user, parsed.password),
        (Some(&b"user"[..]), &b"secret"[..])
    );
}
