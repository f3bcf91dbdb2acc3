use super::*;
use crate::controller::testing::{first, registration};

fn comes_back<T>(message: &T)
where
    T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug,
{
    let bytes = postcard::to_allocvec(message).unwrap();
    assert_eq!(postcard::from_bytes::<T>(&bytes).unwrap(), *message);
    for len in 0..bytes.len() {
        assert!(postcard::from_bytes::<T>(&bytes[..len]).is_err());
    }
}

#[test]
fn messages_come_back_as_they_were_sent() {
    let summary = LogSummary {
        partition: PartitionId(3),
        generation: 1,
        committed: Op(u64::MAX),
        last: (View(2), Op(9)),
        is_complete: true,
        is_tail_sure: false,
        is_end_cut: true,
        durability: Durability::Fsync,
    };
    comes_back(&ToLeader::Report(LogReport {
        replica: first(1),
        summaries: vec![summary; 3],
        is_last: true,
    }));
    comes_back(&ToLeader::Lease(LeaseRequest {
        node: NodeId(1),
        incarnation: Incarnation(2),
        sent_at: 3,
        bricks: vec![BrickState::default(); 2],
    }));
    comes_back(&ToLeader::Join(Join {
        cluster: Some(ClusterId(7)),
        after: Some(Incarnation(3)),
        registration: registration(1),
    }));
    comes_back(&ToNode::Grant(LeaseGrant {
        incarnation: Incarnation(2),
        sent_at: 3,
        lease: Duration::from_millis(1_500),
        version: CatalogVersion(4),
        bricks: vec![true, false],
    }));
    comes_back(&ToNode::Changed(Changed {
        sequence: 4,
        outcome: Some(Err("no".to_owned())),
    }));
}
