//! Which connection leads to whom.

use super::*;

#[derive(Default)]
struct Recorder(Vec<String>);

impl Wires for Recorder {
    fn dial(&mut self, target: &Target, _address: &HostPort, _expected: Option<NodeKey>) {
        self.0.push(format!("dial {target:?}"));
    }

    fn hang_up(&mut self, target: &Target) {
        self.0.push(format!("hang up {target:?}"));
    }

    fn turn_away(&mut self, arrived: u64) {
        self.0.push(format!("turn away {arrived}"));
    }

    fn push(&mut self, on: &Source, _frame: Vec<u8>, _urgency: Urgency) {
        self.0.push(format!("push {on:?}"));
    }

    fn introduce(&mut self, _introduction: &Introduction) {}
}

fn contacts() -> Contacts {
    Contacts::new(Introduction {
        cluster: None,
        key: NodeKey([1; 20]),
        node: None,
    })
}

fn seed() -> HostPort {
    HostPort {
        host: "other".to_owned(),
        port: 1,
    }
}

fn hello(node: u32) -> Hello {
    let introduction = Introduction {
        cluster: None,
        key: NodeKey([2; 20]),
        node: Some((NodeId(node), Incarnation(1))),
    };
    introduction.hello(ConnectionKind::Control)
}

#[test]
fn member_that_made_connections_is_answered_on_the_newest() {
    let (mut contacts, mut recorder) = (contacts(), Recorder::default());
    let message = Message::Raft(Vec::new());
    let send = |contacts: &Contacts, recorder: &mut Recorder| {
        contacts.send(recorder, NodeId(7), &message, Urgency::Normal)
    };
    assert!(!send(&contacts, &mut recorder), "there is no way to it");
    contacts.on_arrived(1, hello(7));
    contacts.on_arrived(2, hello(7));
    contacts.on_arrived(3, hello(8));
    assert!(send(&contacts, &mut recorder));
    contacts.on_left(2);
    assert!(send(&contacts, &mut recorder));
    assert_eq!(recorder.0, ["push Arrived(2)", "push Arrived(1)"]);
    assert_eq!(contacts.member(&Source::Arrived(3)), Some(NodeId(8)));
    assert_eq!(contacts.member(&Source::Arrived(2)), None);
}

#[test]
fn level_of_a_member_is_what_it_said_last() {
    let mut contacts = contacts();
    assert_eq!(contacts.level(NodeId(7)), None, "it has not connected yet");
    contacts.on_arrived(1, hello(7));
    assert_eq!(contacts.level(NodeId(7)), Some(Level::NEWEST));
    let earlier = Hello {
        level: Level::FIRST,
        ..hello(7)
    };
    contacts.on_arrived(2, earlier);
    contacts.on_arrived(3, hello(8));
    assert_eq!(contacts.level(NodeId(7)), Some(Level::FIRST));
    contacts.on_left(1);
    contacts.on_left(2);
    assert_eq!(
        contacts.level(NodeId(7)),
        Some(Level::FIRST),
        "it comes back as it went"
    );
}

#[test]
fn seed_is_dialed_once_and_left_when_it_is_dropped() {
    let (mut contacts, mut recorder) = (contacts(), Recorder::default());
    let target = Target::Seed(seed());
    contacts.add_seed(&mut recorder, &seed());
    contacts.add_seed(&mut recorder, &seed());
    assert!(contacts.connected().is_empty());
    contacts.on_welcomed(&target, NodeKey([2; 20]));
    assert_eq!(contacts.connected(), std::slice::from_ref(&target));
    contacts.on_lost(&target);
    assert!(!contacts.is_connected(&target));
    contacts.drop_seed(&mut recorder, &seed());
    contacts.drop_seed(&mut recorder, &seed());
    let (dialed, left) = (format!("dial {target:?}"), format!("hang up {target:?}"));
    assert_eq!(recorder.0, [dialed, left]);
}
