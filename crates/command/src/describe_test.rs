use super::*;
use crate::args::OwnedArgs;
use crate::resolve::resolve;
use brickyard_wire::Protocol;

fn replied(line: &str) -> String {
    let request: OwnedArgs = line.split(' ').collect();
    let spec = resolve(request.as_args()).unwrap();
    let mut out = Vec::new();
    let mut reply = Reply::new(&mut out, Protocol::Resp2);
    describe(spec.id, request.as_args(), &mut reply).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn count_list_and_whole_reply_agree() {
    let count = format!(":{}\r\n", COMMANDS.len());
    assert_eq!(replied("command count"), count);
    let header = format!("*{}\r\n", COMMANDS.len());
    assert!(replied("command").starts_with(&header));
    assert_eq!(replied("command"), replied("command info"));
}

#[test]
fn hidden_commands_are_not_shown() {
    assert_eq!(replied("command info cluster|meet"), "*1\r\n$-1\r\n");
    assert!(!replied("command list").contains("cluster|meet"));
    assert!(!replied("command docs").contains("cluster|meet"));
}

#[test]
fn help_names_every_subcommand_with_its_usage() {
    let mut out = Vec::new();
    help("table", &mut Reply::new(&mut out, Protocol::Resp2));
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.starts_with("*33\r\n+TABLE <subcommand> [<arg> [value] [opt] ...]."),
        "{text}"
    );
    let usage = "+CREATE <name> [MEDIUM <RAM|DISK>] [DURABILITY <MEMORY|LOG|FSYNC>] \
                 [REPLICAS <replicas>] ";
    assert!(text.contains(usage), "{text}");
    assert!(text.contains("+DROP <name> CONFIRM <name>\r\n"), "{text}");
    assert!(
        text.ends_with("+HELP\r\n+    Prints this help.\r\n"),
        "{text}"
    );
}
