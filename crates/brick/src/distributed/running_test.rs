use super::*;
use crate::accepted::ConnectionId;
use crate::output::PlaceholderId;
use crate::request::{Origin, Token};
use crate::transaction::Across;
use brickyard_command::{OwnedArgs, lookup};
use brickyard_routing::{Member, NodeId};
use brickyard_types::BrickId;
use brickyard_wire::Protocol;

const ID: TransactionId = TransactionId {
    coordinator: 1,
    number: 2,
};

fn running(words: &[&str], across: Option<Across>) -> Running {
    let spec = lookup(words[0].as_bytes()).unwrap();
    let args: OwnedArgs = words.iter().collect();
    let transaction = Transaction::of_command(spec, args);
    let transaction = match across {
        Some(across) => transaction.spanning(across),
        None => transaction.anchored(),
    };
    let member = Member {
        node: NodeId(0),
        brick: BrickId(0),
    };
    let token = Token {
        connection: ConnectionId(0),
        client: 1,
        placeholder: PlaceholderId(0),
        part: 0,
    };
    let (origin, work) = (
        Origin { member, token },
        Work::Transaction(Box::new(transaction)),
    );
    let request = Request::new(origin, TableId(1), Protocol::Resp2, work, Instant(0));
    let age = Age {
        since: 0,
        coordinator: ID.coordinator,
        number: ID.number,
    };
    Running::new(request, ID, age)
}

/// Rule `two tables are answered for last`: a record may go with its table's keys, and what became of the transaction is known all the same.
#[test]
fn transaction_over_two_tables_is_open_until_its_client_is_answered() {
    let across = Across {
        database: 2,
        table: TableId(2),
    };
    let mut of_one = running(&["rename", "a", "b"], None);
    let mut of_two = running(&["move", "a", "2"], Some(across));
    let phases = [
        (Phase::Reading, false, false),
        (Phase::Pausing(Instant(1)), false, false),
        (Phase::Locking, true, true),
        (Phase::Committing, false, true),
        (Phase::Resolving, false, true),
        (Phase::Unresolved(Instant(1)), false, true),
        (Phase::Closing, false, false),
    ];
    for (phase, is_one_open, is_two_open) in phases {
        of_one.phase = phase;
        of_two.phase = phase;
        let open = (of_one.is_open(ID), of_two.is_open(ID));
        assert_eq!(open, (is_one_open, is_two_open), "{phase:?}");
    }
    of_two.phase = Phase::Committing;
    let another = TransactionId { number: 3, ..ID };
    assert!(!of_two.is_open(another));
}
