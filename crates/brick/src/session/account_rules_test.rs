use super::*;

fn parse(words: &str) -> Result<Vec<SetRule>, String> {
    let words = words.split(' ').map(str::as_bytes);
    parse_rules(words).map_err(|error| error.text().into_owned())
}

#[test]
fn every_form_is_read() {
    let rules = parse(
        "on OFF >pw <pw nopass resetpass +GET -@write +config|get allcommands nocommands ~a %R~b %rw~c allkeys resetkeys &ch \
         allchannels resetchannels table:shop-*=read,WRITE alltables resettables #$argon2id$v=19$x !$argon2id$v=19$x reset \
         limit:connections=100 LIMIT:ops=0 limit:bytes=10000000000 resetlimits",
    );
    let rules = rules.unwrap();
    assert_eq!(rules.len(), 29);
    let limit = AccountRule::Limit(Limited::Connections, 100);
    assert!(rules.contains(&SetRule::Rule(limit)));
    assert!(rules.contains(&SetRule::AddPassword(b"pw".to_vec())));
    assert!(rules.contains(&SetRule::Rule(AccountRule::Command("+get".to_owned()))));
    let grant = TableGrant {
        tables: "shop-*".to_owned(),
        admin: false,
        ..TableGrant::all()
    };
    assert!(rules.contains(&SetRule::Rule(AccountRule::Tables(grant))));
    let pattern = KeyPattern {
        pattern: b"b".to_vec(),
        read: true,
        write: false,
    };
    assert!(rules.contains(&SetRule::Rule(AccountRule::Keys(pattern))));
}

#[test]
fn words_about_payloads_change_nothing() {
    assert_eq!(
        parse("skip-sanitize-payload Sanitize-Payload"),
        Ok(Vec::new())
    );
    let rules = parse("on sanitize-payload").unwrap();
    assert_eq!(rules, [SetRule::Rule(AccountRule::On)]);
}

#[test]
fn others_are_refused_in_words_that_name_no_password() {
    for word in [
        "+nothing",
        "+@nothing",
        "nothing",
        "%X~a",
        "%~a",
        "%R",
        "#123",
        "(+get",
        "table:a",
        "table:a=",
        "table:=read",
        "table:a=own",
        "limit:",
        "limit:ops",
        "limit:ops=",
        "limit:ops=+1",
        "limit:ops=-1",
        "limit:ops=99999999999999999999",
        "limit:ops=10000001",
        "limit:keys=1",
        "on!",
        ">",
    ] {
        let error = parse(word).unwrap_err();
        assert!(
            error.starts_with("ERR Error in ACL SETUSER modifier '"),
            "{error}"
        );
    }
    let secret = format!(">{}", "s".repeat(2_000));
    let error = parse(&secret).unwrap_err();
    assert!(!error.contains("sss"), "{error}");
    let many = [">p"; 17].join(" ");
    assert!(parse(&many).is_err());
}
