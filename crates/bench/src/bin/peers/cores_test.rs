use super::*;

#[test]
fn line_is_straight_where_nothing_is_passed_on_and_bends_once_where_it_is() {
    // Passing on costs 4 us: half of all are passed on by two bricks, three quarters by four.
    let costs = [vec![5.0, 5.0], vec![7.0, 5.0], vec![8.0, 5.0]];
    assert!((passing(&costs, 0) - 4.0).abs() < 1e-9);
    assert!(passing(&costs, 1).abs() < 1e-9);
    let page = written(&costs);
    assert!(
        page.contains("| to pass one on, and back | 4.00 | 0.00 |"),
        "{page}"
    );
    assert!(page.contains("| 1 | 200 | 200 | 200 | 200 |"), "{page}");
    assert!(page.contains("| 4 | 800 | 500 | 800 | 800 |"), "{page}");
}
