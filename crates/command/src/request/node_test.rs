use super::*;
use crate::args::OwnedArgs;
use crate::resolve::resolve;

fn parse(line: &str) -> Result<NodeCommand, String> {
    let request: OwnedArgs = line.split(' ').collect();
    let args = request.as_args();
    let spec = resolve(args).map_err(|error| error.to_string())?;
    NodeCommand::parse(spec.id, args).map_err(|error| error.to_string())
}

#[test]
fn nodes_are_named_by_their_numbers() {
    let drain = |force| Ok(NodeCommand::Drain { node: 3, force });
    assert_eq!(parse("node drain 3"), drain(false));
    assert_eq!(parse("NODE DRAIN 3 force"), drain(true));
    let remove = |force| Ok(NodeCommand::Remove { node: 3, force });
    assert_eq!(parse("NODE REMOVE 3"), remove(false));
    assert_eq!(parse("NODE REMOVE 3 FORCE"), remove(true));
    assert_eq!(
        parse("NODE REPLACE 3 12"),
        Ok(NodeCommand::Replace { old: 3, new: 12 })
    );
    assert_eq!(parse("NODE LIST"), Ok(NodeCommand::List));
    for line in ["NODE DRAIN -3", "NODE DRAIN node-3", "NODE REPLACE 3 x"] {
        let refusal = parse(line).unwrap_err();
        assert!(refusal.contains("is no node; use its number"), "{refusal}");
    }
    for line in ["NODE DRAIN 3 forced", "NODE REMOVE 3 FORCE 4"] {
        let refusal = parse(line).unwrap_err();
        assert!(refusal.contains("only FORCE may follow"), "{refusal}");
    }
    assert!(parse("NODE DRAIN").is_err());
    assert!(parse("NODE REPLACE 3").is_err());
}

#[test]
fn alter_leaves_what_it_does_not_name() {
    let alter = |line: &str| match parse(line) {
        Ok(NodeCommand::Alter(2, options)) => Ok(options),
        Ok(other) => panic!("{other:?}"),
        Err(refusal) => Err(refusal),
    };
    assert_eq!(
        alter("NODE ALTER 2 WEIGHT 0 zone east CONTROL no STORAGE YES"),
        Ok(NodeOptions {
            weight: Some(0),
            zone: Some(Some("east".to_owned())),
            control: Some(false),
            storage: Some(true),
            gateway: None,
        })
    );
    let roles = alter("NODE ALTER 2 ROLES Gateway,control").unwrap();
    assert_eq!(
        (roles.storage, roles.control, roles.gateway),
        (Some(false), Some(true), Some(true))
    );
    let last_counts = alter("NODE ALTER 2 ROLES storage GATEWAY yes").unwrap();
    assert_eq!(
        (last_counts.storage, last_counts.gateway),
        (Some(true), Some(true))
    );
    let only_zone = alter("NODE ALTER 2 ZONE ");
    assert_eq!(only_zone.unwrap().zone, Some(None));
    for (line, text) in [
        ("NODE ALTER 2 WEIGHT many", "WEIGHT is 'many'; use a number"),
        ("NODE ALTER 2 CONTROL on", "CONTROL is 'on'; use yes or no"),
        ("NODE ALTER 2 ROLES ", "ROLES is ''; use one or more of"),
        ("NODE ALTER 2 ROLES storage,boss", "ROLES is 'storage,boss'"),
        ("NODE ALTER 2 COLOR red", "unknown option 'COLOR'"),
        ("NODE ALTER 2 WEIGHT 1 ZONE", "'ZONE' has no value"),
    ] {
        let refusal = alter(line).unwrap_err();
        assert!(refusal.contains(text), "{refusal}");
    }
}
