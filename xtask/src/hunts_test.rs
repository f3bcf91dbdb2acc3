use super::*;

const PAGE: &str = "# Bugs

| Bug | Rule | Found by (seeds) |
|---|---|---|
| `One` | 1 | brick 3, sim 9 |
| `Two` | 2 |  |
";

#[test]
fn page_has_what_was_found_and_keeps_the_rest() {
    let lines = "test a ... sabotage: One sim 4 [4, seed 4]: it says\n\
                 sabotage: Two store - [-, reached 7 times]\n\
                 sabotage: Two control 12: it says\n\
                 something else\n";
    let page = update(PAGE, lines);
    assert!(page.contains("| `One` | 1 | brick 3, sim 4 |\n"));
    assert!(page.contains("| `Two` | 2 | control 12 |\n"));
    assert!(page.starts_with("# Bugs\n\n| Bug | Rule | Found by (seeds) |\n"));
}

#[test]
fn what_is_found_no_more_goes() {
    let page = update(PAGE, "sabotage: One brick - [-, reached 0 times]\n");
    assert!(page.contains("| `One` | 1 | sim 9 |\n"));
    assert_eq!(update(PAGE, ""), PAGE);
}
