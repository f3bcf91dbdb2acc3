use crate::accepted::Port;
use crate::acl::Acl;
use crate::harness::{Client, Node, with};
use crate::users::{Grant, Rights, User};
use brickyard_metadata::UserLimits;
use brickyard_types::Durability;

fn node() -> Node {
    Node::new(2, with(Durability::Log))
}

/// A client on each brick that has logged in as `ann`.
fn anns(node: &mut Node) -> [Client; 2] {
    [0, 1].map(|brick| {
        let client = node.connect(brick, Port::Node);
        assert_eq!(node.call(client, "AUTH ann right"), "+OK");
        client
    })
}

#[test]
fn user_may_do_what_its_rules_say_on_every_brick_at_once() {
    let mut node = node();
    let root = node.connect(0, Port::Node);
    assert_eq!(
        node.call(
            root,
            "ACL SETUSER ann on >right ~a:* %R~r:* +@read +set +mset +multi +exec +client"
        ),
        "+OK"
    );
    for ann in anns(&mut node) {
        assert_eq!(node.call(ann, "SET a:1 v"), "+OK");
        assert_eq!(node.call(ann, "GET r:1"), "$-1");
        assert_eq!(
            node.call(ann, "DEL a:1"),
            "-NOPERM User ann has no permissions to run the 'del' command"
        );
        let no_key = "-NOPERM No permissions to access a key";
        for line in [
            "GET b",
            "SET r:1 v",
            "MSET a:1 v r:1 v",
            "MGET a:1 b",
            "OBJECT ENCODING b",
        ] {
            let reply = node.call(ann, line);
            assert!(reply.starts_with("-NOPERM"), "{line}: {reply}");
        }
        assert_eq!(node.call(ann, "MGET a:1 a:2 c"), no_key);
        let clock = node.call(root, "REQUEST NOW");
        let now = clock.trim_start_matches(':').to_owned();
        let reply = node.call(ann, &format!("REQUEST 7 {now} FIRST SET b v"));
        assert!(reply.starts_with("-NOPERM"), "{reply}");
        let reply = node.call(ann, "MULTI\nSET b v\nEXEC");
        assert!(
            reply.starts_with("+OK -NOPERM") && reply.contains("-EXECABORT"),
            "{reply}"
        );
        assert!(
            node.call(ann, "ACL SETUSER ann +@all")
                .starts_with("-NOPERM")
        );
        assert!(node.call(ann, "SHUTDOWN").starts_with("-NOPERM"));
        let listed = node.call(root, "ACL LOG 1");
        assert!(listed.starts_with("*1") || ann.brick == 1, "{listed}");
    }
}

#[test]
fn changed_user_has_its_new_rights_at_once_in_a_transaction_too() {
    let mut node = node();
    let root = node.connect(0, Port::Node);
    node.call(root, "ACL SETUSER ann on >right ~* +@all");
    let [ann, other] = anns(&mut node);
    assert_eq!(node.call(ann, "MULTI\nSET k v"), "+OK +QUEUED");
    assert_eq!(node.call(root, "ACL SETUSER ann -set"), "+OK");
    assert!(
        node.call(ann, "EXEC").starts_with("-NOPERM"),
        "queued before"
    );
    assert!(node.call(other, "SET k v").starts_with("-NOPERM"));
    assert_eq!(node.call(other, "GET k"), "$-1");
    assert_eq!(
        node.call(root, "ACL SETUSER ann resettables table:default=read"),
        "+OK"
    );
    assert!(node.call(other, "DEL k").starts_with("-NOPERM"));
    assert_eq!(node.call(other, "GET k"), "$-1");
    assert_eq!(node.call(root, "ACL SETUSER ann +set alltables"), "+OK");
    assert_eq!(node.call(other, "SET k v"), "+OK");
    // A password that is taken away keeps nobody out who is in, and the next one out.
    assert_eq!(node.call(root, "ACL SETUSER ann resetpass"), "+OK");
    assert_eq!(node.call(other, "GET k"), "$1 v");
}

#[test]
fn connections_of_a_user_that_is_off_or_gone_end() {
    let mut node = node();
    let root = node.connect(0, Port::Node);
    for (command, reply) in [
        ("ACL SETUSER ann off", "+OK"),
        ("ACL DELUSER ann nobody", ":1"),
    ] {
        node.call(root, "ACL SETUSER ann on >right ~* +@all");
        let [first, second] = anns(&mut node);
        assert_eq!(node.call(root, command), reply);
        assert_eq!(node.bricks[0].poll_closed(), Some(first.id));
        assert_eq!(node.bricks[1].poll_closed(), Some(second.id));
        let next = node.connect(0, Port::Node);
        let refused = node.call(next, "AUTH ann right");
        assert!(refused.starts_with("-WRONGPASS"), "{refused}");
    }
    let refused = node.call(root, "ACL DELUSER default");
    assert_eq!(refused, "-ERR The 'default' user cannot be removed");
}

#[test]
fn user_without_a_password_that_is_accepted_cannot_come_in() {
    let mut node = node();
    let root = node.connect(0, Port::Node);
    node.call(root, "ACL SETUSER ann on ~* +@all");
    let client = node.connect(0, Port::Node);
    assert!(
        node.call(client, "AUTH ann wrong")
            .starts_with("-WRONGPASS")
    );
    node.call(root, "ACL SETUSER ann nopass");
    assert_eq!(node.call(client, "AUTH ann anything"), "+OK");
    assert_eq!(node.call(client, "ACL WHOAMI"), "$3 ann");
}

#[test]
fn default_can_be_changed_and_then_strangers_must_log_in() {
    let mut node = node();
    let root = node.connect(0, Port::Node);
    assert_eq!(
        node.call(root, "ACL LIST"),
        "*1 $34 user default on nopass ~* &* +@all"
    );
    assert_eq!(node.call(root, "ACL SETUSER default -flushall"), "+OK");
    assert!(node.call(root, "FLUSHALL").starts_with("-NOPERM"));
    assert_eq!(node.call(root, "ACL SETUSER default +@all >right"), "+OK");
    let stranger = node.connect(1, Port::Node);
    assert!(node.call(stranger, "GET k").starts_with("-NOAUTH"));
    assert_eq!(node.call(stranger, "AUTH right\nGET k"), "+OK $-1");
    // It is in the catalog, so a restart changes nothing.
    node.restart();
    let stranger = node.connect(0, Port::Node);
    assert!(node.call(stranger, "GET k").starts_with("-NOAUTH"));
}

#[test]
fn users_of_the_file_are_shown_and_not_changed() {
    let user = User {
        name: "root".to_owned(),
        password_hashes: vec!["hash".to_owned()],
        grants: vec![Grant {
            tables: "*".to_owned(),
            rights: Rights::ALL,
        }],
        table: None,
        acl: Acl::unrestricted(),
        limits: UserLimits::NONE,
    };
    let mut node = Node::with_users(1, with(Durability::Log), vec![user]);
    let root = node.connect(0, Port::Node);
    node.call(root, "AUTH root right");
    for line in ["ACL SETUSER root off", "ACL DELUSER ann root"] {
        let refused = node.call(root, line);
        assert!(refused.contains("configuration file"), "{refused}");
    }
    assert_eq!(node.call(root, "ACL SETUSER ann on >right +get ~*"), "+OK");
    assert_eq!(node.call(root, "ACL USERS"), "*2 $3 ann $4 root");
    // The file has no `default`, so there is none, and one that is made begins with nothing.
    assert_eq!(node.call(root, "ACL SETUSER default on"), "+OK");
    let stranger = node.connect(0, Port::Node);
    assert!(node.call(stranger, "GET k").starts_with("-NOAUTH"));
}

#[test]
fn what_is_shown_is_what_was_said_and_no_password() {
    let mut node = node();
    let root = node.connect(0, Port::Node);
    node.call(
        root,
        "ACL SETUSER ann on >secret ~a:* %W~b &ch +@read -get resettables table:default=read,write",
    );
    let shown = node.call(root, "ACL GETUSER ann");
    assert_eq!(
        shown,
        "*14 $5 flags *1 $2 on $9 passwords *1 $14 $argon2$secret $8 commands $17 -@all +@read -get $4 keys $9 ~a:* %W~b \
         $8 channels $3 &ch $9 selectors *0 $6 tables $24 table:default=read,write",
        "the test's hash is the password itself"
    );
    assert_eq!(node.call(root, "ACL GETUSER nobody"), "$-1");
    assert_eq!(
        node.call(root, "ACL DRYRUN ann GET a:1"),
        "$52 User ann has no permissions to run the 'get' command"
    );
    assert_eq!(node.call(root, "ACL DRYRUN ann STRLEN a:1"), "+OK");
    assert!(
        node.call(root, "ACL DRYRUN ann STRLEN c")
            .contains("access the 'c' key")
    );
    assert_eq!(
        node.call(root, "ACL DRYRUN bob GET k"),
        "-ERR User 'bob' not found"
    );
    assert_eq!(
        node.call(root, "ACL DRYRUN ann NOTHING"),
        "-ERR Command 'NOTHING' not found"
    );
    assert_eq!(node.call(root, "ACL SAVE\nACL LOAD"), "+OK +OK");
    assert!(
        node.call(root, "ACL CAT")
            .starts_with("*21 $8 keyspace $4 read")
    );
    assert!(node.call(root, "ACL CAT transaction").contains("$5 multi"));
    assert_eq!(
        node.call(root, "ACL CAT nothing"),
        "-ERR Unknown category 'nothing'"
    );
    assert!(node.call(root, "ACL HELP").starts_with('*'));
    assert!(
        node.call(root, "ACL GENPASS 0")
            .starts_with("-ERR ACL GENPASS")
    );
    assert_eq!(node.call(root, "ACL GENPASS 6"), "$2 aa");
    for record in &node.audited {
        assert!(!record.command.contains("secret"), "{record:?}");
    }
    assert!(
        node.audited
            .iter()
            .any(|it| it.command.contains("SETUSER ann on (redacted) ~a:*") && it.result == "OK")
    );
}

#[test]
fn refusals_are_in_the_log_until_it_is_reset() {
    let mut node = node();
    let root = node.connect(0, Port::Node);
    node.call(root, "ACL SETUSER ann on >right ~a +get");
    let ann = node.connect(1, Port::Node);
    node.call(ann, "AUTH ann wrong");
    node.call(ann, "AUTH ann right\nGET b\nSET a v");
    let shown = node.call(root, "ACL LOG");
    assert!(shown.starts_with("*3"), "{shown}");
    for text in [
        "$4 auth",
        "$7 command",
        "$3 key",
        "$3 ann",
        "$3 set",
        "$1 b",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert_eq!(node.call(root, "ACL LOG RESET\nACL LOG"), "+OK *0");
}
