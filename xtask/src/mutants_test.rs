use super::*;

const CODE: &str = "//! A crate.
const LIMIT: u32 = 5;
const fn limit() -> bool {
    1 < LIMIT
}
impl fmt::Debug for Lease {
    fn fmt(&self) -> bool {
        self.end < 3
    }
}
impl Lease {
    fn is_over(&self, now: u32) -> bool {
        assert!(now > 0);
        now >= self.end + 1
    }
    fn take(&mut self) {
        let list = Vec::with_capacity(3);
        let Some(it) = self.first && !self.is_over else { return };
        self.end = it;
        self.assert_sound();
        let bytes = [0; 16];
        match it {
            1 if list.is_some() => self.stop(),
            _ => self.go(it)?,
        }
    }
}
#[cfg(test)]
mod tests {
    fn is_test() -> bool {
        1 < 2
    }
}
";

fn tree(reasons: &str) -> Tree {
    Tree::of(&[
        ("crates/store/Cargo.toml", ""),
        ("crates/store/src/lib.rs", CODE),
        ("crates/wire/Cargo.toml", ""),
        (
            "crates/wire/src/lib.rs",
            "fn is_other() -> bool { 1 == LIMIT }",
        ),
        (REASONS, reasons),
    ])
}

fn all() -> Vec<Mutant> {
    find::all(&tree("")).expect("the code is Rust")
}

#[test]
fn mutants_are_made_by_rule_and_nothing_else_is_changed() {
    let mut told: Vec<String> = all().iter().map(ToString::to_string).collect();
    for line in &mut told {
        *line = line.replacen("crates/store/src/lib.rs:", "", 1);
    }
    assert_eq!(
        told,
        [
            "13 Lease::is_over: `assert!(now > 0); now >= self.end + 1` becomes `true`",
            "13 Lease::is_over: `assert!(now > 0); now >= self.end + 1` becomes `false`",
            "14 Lease::is_over: `now >= self.end + 1` becomes `now > self.end + 1`",
            "14 Lease::is_over: `self.end + 1` becomes `self.end - 1`",
            "14 Lease::is_over: `1` becomes `(1 + 1)`",
            "18 Lease::take: `self.first && !self.is_over` becomes `self.first || !self.is_over`",
            "18 Lease::take: `!self.is_over` becomes `self.is_over`",
            "19 Lease::take: `self.end = it;` becomes nothing",
            "23 Lease::take: `list.is_some()` becomes `true`",
            "23 Lease::take: `list.is_some()` becomes `false`",
            "23 Lease::take: `list.is_some()` becomes `list.is_none()`",
            "23 Lease::take: `self.stop()` becomes nothing",
        ]
    );
}

#[test]
fn name_stays_when_lines_move_and_two_like_changes_have_two() {
    let moved = format!("//! More.\n{CODE}fn f() {{ a(); a(); }}");
    let files = [
        ("crates/store/Cargo.toml", ""),
        ("crates/store/src/lib.rs", moved.as_str()),
    ];
    let moved = find::all(&Tree::of(&files)).expect("the code is Rust");
    for mutant in all() {
        let same = moved.iter().find(|it| it.name == mutant.name);
        let same = same.expect("it has kept its name");
        assert_eq!((same.line, &same.after), (mutant.line + 1, &mutant.after));
    }
    let names: Vec<&str> = moved.iter().map(|it| it.name.as_str()).collect();
    let [.., one, other] = names.as_slice() else {
        panic!("{names:?}");
    };
    assert_ne!(one, other);
}

#[test]
fn sample_is_chosen_by_its_seed() {
    let choose = |arguments: &str| {
        let options = Options::parse(arguments.split_whitespace());
        let chosen = options.expect("known options").choose(all());
        chosen
            .iter()
            .map(|it| it.name.clone())
            .collect::<Vec<String>>()
    };
    let (one, other) = (choose("--sample 4 --seed 1"), choose("--sample 4 --seed 2"));
    assert!(one.len() == 4 && one != other, "{one:?} {other:?}");
    // More of the same seed are those and others.
    let more = choose("--sample 6 --seed 1");
    assert!(one.iter().all(|it| more.contains(it)));
    assert_eq!(choose(&format!("--mutant {}", one[0])), one[..1]);
    assert!(choose("--crate brick").is_empty() && choose("--file log.rs").is_empty());
    assert_eq!(Options::parse(["--everything"].into_iter()), None);
}

#[test]
fn reason_has_to_be_of_a_mutant() {
    let name = &all()[2].name;
    let at = "in = \"crates/store/src/lib.rs Lease::is_over\"";
    let text = format!(
        "[[equivalent]]\nmutant = \"{name}\"\n{at}\nwhy = \"a margin\"\n
[[equivalent]]\nmutant = \"0123456789\"\n{at}\nwhy = \"it was\"\n
[[equivalent]]\nmutant = \"{name}\"\n{at}\n"
    );
    let found: Vec<String> = findings(&tree(&text))
        .iter()
        .map(ToString::to_string)
        .collect();
    let unknown = "xtask/mutants.toml:7: 0123456789 is no mutant: `cargo xtask mutants --list`, or take the entry out";
    let silent = format!("xtask/mutants.toml:2: {name} needs a `why`");
    assert_eq!(found, [unknown.to_owned(), silent]);
}
