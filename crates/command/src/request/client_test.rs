use super::*;
use crate::args::OwnedArgs;
use crate::resolve::resolve;

fn parsed(request: &OwnedArgs) -> Result<ClientCommand<'_>, String> {
    let args = request.as_args();
    let spec = resolve(args).unwrap();
    ClientCommand::parse(spec.id, args).map_err(|error| error.to_string())
}

#[test]
fn kill_in_the_old_form_kills_even_the_asker() {
    let request: OwnedArgs = "client kill 127.0.0.1:5".split(' ').collect();
    let Ok(ClientCommand::Kill(filter)) = parsed(&request) else {
        panic!("CLIENT KILL");
    };
    assert_eq!(filter.address, Some(&b"127.0.0.1:5"[..]));
    assert!(filter.is_old_form);
    assert!(!filter.skips_self);
}

#[test]
fn kill_in_the_new_form_spares_the_asker() {
    let request: OwnedArgs = "client kill id 7 type normal user me".split(' ').collect();
    let Ok(ClientCommand::Kill(filter)) = parsed(&request) else {
        panic!("CLIENT KILL");
    };
    assert_eq!(
        (filter.id, filter.kind),
        (Some(7), Some(ClientKind::Normal))
    );
    assert!(filter.skips_self);
}

#[test]
fn library_is_told_by_name_and_version() {
    let request: OwnedArgs = "client setinfo LIB-NAME redis-py(x,y)".split(' ').collect();
    assert_eq!(
        parsed(&request),
        Ok(ClientCommand::SetLibraryName(b"redis-py(x,y)"))
    );
    let request: OwnedArgs = ["client", "setinfo", "lib-ver", "1 2"].iter().collect();
    let error = "ERR lib-ver cannot contain spaces, newlines or special characters.";
    assert_eq!(parsed(&request), Err(error.to_owned()));
    let request: OwnedArgs = "client setinfo other x".split(' ').collect();
    assert_eq!(
        parsed(&request),
        Err("ERR Unrecognized option 'other'".to_owned())
    );
}
