use super::*;

fn texts(manifests: &[(&str, &str)]) -> Vec<String> {
    let map = "`types` `wire` `table` `command` `brick` `server` `store`";
    let files: Vec<(&str, &str)> = manifests.iter().copied().chain([(MAP, map)]).collect();
    let findings = findings(&Tree::of(&files));
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn arrows_along_the_path_are_fine() {
    let found = texts(&[
        (
            "crates/types/Cargo.toml",
            "[dependencies]\nserde.workspace = true",
        ),
        (
            "crates/command/Cargo.toml",
            "[dependencies]\nbrickyard-wire.workspace = true",
        ),
        (
            "crates/server/Cargo.toml",
            "[dependencies]\nbrickyard-brick = {}\nbrickyard-store = {}\nmio = \"1\"",
        ),
        (
            "crates/table/Cargo.toml",
            "[dev-dependencies]\nbrickyard-server = {}\ntokio = \"1\"",
        ),
    ]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn arrows_back_are_found_wherever_they_hide() {
    for manifest in [
        "[dependencies]\nbrickyard-command.workspace = true",
        "[build-dependencies]\nbrickyard-command = {}",
        "[target.'cfg(unix)'.dependencies]\nbrickyard-command = {}",
        "[dependencies]\nharmless = { package = \"brickyard-command\", path = \"../command\" }",
    ] {
        let found = texts(&[("crates/table/Cargo.toml", manifest)]);
        assert_eq!(found.len(), 1, "{manifest}");
        assert!(found[0].starts_with("crates/table/Cargo.toml: table may not use command"));
    }
}

#[test]
fn libraries_for_other_languages_are_rooms() {
    let manifest = "[dependencies]\nbrickyard-server.workspace = true";
    let found = texts(&[("clients/python/Cargo.toml", manifest)]);
    assert_eq!(
        found.len(),
        2,
        "it may not use the server, and is not on the map: {found:?}"
    );
    assert!(texts(&[("clients/cobol/Cargo.toml", "")])[0].contains("room cobol is unknown"));
}

#[test]
fn services_see_the_client_library_alone() {
    let manifest = "[dependencies]\nbrickyard-client = {}\nbrickyard-example-service = {}\nbrickyard-store = {}";
    let found = texts(&[("examples/site/Cargo.toml", manifest)]);
    assert_eq!(
        found.len(),
        2,
        "it may not use the store, and is not on the map: {found:?}"
    );
    assert!(
        found.iter().any(|it| it.contains("may not use store")),
        "{found:?}"
    );
}

#[test]
fn brick_does_not_know_the_store() {
    let found = texts(&[(
        "crates/brick/Cargo.toml",
        "[dependencies]\nbrickyard-store = {}",
    )]);
    assert_eq!(found.len(), 1);
}

#[test]
fn sans_io_room_has_no_worldly_dependency() {
    let found = texts(&[("crates/wire/Cargo.toml", "[dependencies]\ntokio = \"1\"")]);
    assert!(
        found[0].contains("wire is sans-IO and may not use tokio"),
        "{found:?}"
    );
}

#[test]
fn new_room_needs_a_place_and_a_line_on_the_map() {
    let found = texts(&[
        ("crates/attic/Cargo.toml", ""),
        ("crates/metadata/Cargo.toml", ""),
    ]);
    assert!(found[0].contains("room attic is unknown"), "{found:?}");
    assert!(
        found[1].contains("room `metadata` is not on the map"),
        "{found:?}"
    );
}
