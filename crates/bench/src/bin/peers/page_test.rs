use super::replaced;

#[test]
fn only_what_stands_between_the_markers_changes() {
    let page = "top\n<!-- a:begin -->\nold\n<!-- a:end -->\nbottom\n";
    let once = replaced(page, "a", "new\nlines\n").unwrap();
    assert_eq!(
        once,
        "top\n<!-- a:begin -->\nnew\nlines\n<!-- a:end -->\nbottom\n"
    );
    assert_eq!(replaced(&once, "a", "new\nlines\n").unwrap(), once);
}

#[test]
fn a_missing_marker_is_named() {
    let message = replaced("<!-- a:begin -->\n", "a", "x")
        .unwrap_err()
        .to_string();
    assert!(message.contains("<!-- a:end -->"), "{message}");
    assert!(replaced("", "a", "x").is_err());
}
