use super::*;
use crate::args::OwnedArgs;

fn parsed(id: CommandId, request: &OwnedArgs) -> Result<ClusterCommand<'_>, String> {
    ClusterCommand::parse(id, request.as_args()).map_err(|error| error.to_string())
}

#[test]
fn slots_end_at_16383() {
    let request: OwnedArgs = "cluster countkeysinslot 16383".split(' ').collect();
    let slot = Slot(16_383);
    let id = CommandId::ClusterCountkeysinslot;
    assert_eq!(
        parsed(id, &request),
        Ok(ClusterCommand::CountKeysInSlot(slot))
    );
    for number in ["16384", "-1"] {
        let request: OwnedArgs = ["cluster", "countkeysinslot", number].iter().collect();
        assert_eq!(parsed(id, &request), Err("ERR Invalid slot".to_owned()));
    }
}

#[test]
fn keys_in_slot_need_a_count() {
    let id = CommandId::ClusterGetkeysinslot;
    let request: OwnedArgs = "cluster getkeysinslot 5 10".split(' ').collect();
    assert_eq!(
        parsed(id, &request),
        Ok(ClusterCommand::GetKeysInSlot(Slot(5), 10))
    );
    let request: OwnedArgs = "cluster getkeysinslot 5 -1".split(' ').collect();
    let error = "ERR Invalid slot or number of keys".to_owned();
    assert_eq!(parsed(id, &request), Err(error));
}
