use super::super::table;
use super::*;

const PAGE: &str = "# Bugs

| Bug | Rule | What is wrong | Where | Found by (seeds) |
|---|---|---|---|---|
| `Two` | 2 | old |  | brick 3, sim 9 |
| `Gone` | 2 | old |  | brick 3 |

Nobody:

| Bug | Rule | What is wrong | Where | Why |
|---|---|---|---|---|

The end.
";

const TABLE: &str = "
bug Two
rule votes belong to a stream
wrong The second
quick sim
slow brick
in crates/brick/src/view/write.rs
    [-a-]{+b+}
in crates/brick/src/view_test/world.rs
    [-a-]{+b+}

bug One
rule a cut is a record
wrong The first
quick store

bug Hidden
wrong The last
unfound It changes nothing
";

fn page(lines: &str) -> String {
    let bugs = table::parse("t.txt", TABLE, &mut Vec::new());
    update(PAGE, &bugs, lines)
}

#[test]
fn page_has_the_table_in_the_order_of_rules_and_keeps_what_was_found() {
    let page = page("");
    let rows = "|---|---|---|---|---|
| `One` | a cut is a record | The first |  |  |
| `Two` | votes belong to a stream | The second | `brick/view/write.rs` | brick 3, sim 9 |

Nobody:
";
    assert!(page.contains(rows), "{page}");
    assert!(
        page.contains("|---|\n| `Hidden` |  | The last |  | It changes nothing |\n\nThe end.\n")
    );
}

#[test]
fn page_has_what_was_found_this_time() {
    let page =
        page("sabotage: Two sim 4 [4, seed 4]: it says\nsabotage: Two control 12: it says\nelse\n");
    assert!(
        page.contains("brick 3, sim 4 |\n"),
        "a checker that the table does not name is left out"
    );
    assert_eq!(update(&page, &[], "").matches("| `").count(), 0);
}

#[test]
fn checker_that_finds_it_no_more_goes() {
    assert!(page("sabotage: Two brick - [-, reached 0 times]\n").contains("| sim 9 |\n"));
}
