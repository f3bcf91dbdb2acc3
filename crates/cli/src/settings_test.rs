use super::*;

fn parse(arguments: &[&str]) -> Result<SettingsArguments, Error> {
    let command = SettingsArguments::augment_args(Command::new("server").no_binary_name(true));
    let matches = command.try_get_matches_from(arguments)?;
    SettingsArguments::from_arg_matches(&matches)
}

#[test]
fn every_field_has_a_flag_and_switches_stand_alone() {
    let parsed = parse(&["--maxclients", "5", "--insecure", "--temporary=false"]).unwrap();
    assert_eq!(
        parsed.flags,
        [
            ("insecure", "true".to_owned()),
            ("maxclients", "5".to_owned()),
            ("temporary", "false".to_owned()),
        ]
    );
    for field in FIELDS {
        let flag = format!("--{}=x", field.flag());
        assert_eq!(
            parse(&[&flag]).unwrap().flags,
            [(field.name, "x".to_owned())],
            "{flag}"
        );
    }
}

#[test]
fn unknown_flag_is_refused() {
    assert!(parse(&["--brcks", "5"]).is_err());
}

#[test]
fn command_is_well_formed() {
    SettingsArguments::augment_args(Command::new("server")).debug_assert();
}
