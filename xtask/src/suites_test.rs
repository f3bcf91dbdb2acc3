use super::*;

#[test]
fn options_are_read() {
    let parse = |words: &str| Options::parse(words.split(' '));
    let options = parse("a b --ports node,brick --unit unit/scan --page").expect("options");
    assert_eq!(options.folders, [PathBuf::from("a"), PathBuf::from("b")]);
    assert_eq!(options.ports, [Port::Node, Port::Brick]);
    assert_eq!(options.units, ["unit/scan"]);
    assert!(options.is_page && !options.is_whole());
    assert_eq!(parse("a").expect("options").ports, Port::ALL);
    for wrong in ["--page", "a --ports moon", "a --what", "a --unit"] {
        assert_eq!(parse(wrong), None, "{wrong}");
    }
}

#[test]
fn the_page_lists_the_differences_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tree = Tree::read(&root).expect("the repository can be read");
    if std::env::var_os("BRICKYARD_REFRESH").is_some() {
        let differences = Differences::read(&tree, &mut Vec::new());
        let page = tree.text(PAGE).expect("the page");
        let current = page::update(page, &[], &differences);
        fs::write(root.join(PAGE), current).expect("the page can be rewritten");
    } else {
        assert_eq!(findings(&tree), []);
    }
}
