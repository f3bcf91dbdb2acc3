//! What a browser shows.
//!
//! Invariant: what people wrote is text, never markup: the library (maud) escapes it.

use crate::session::Visitor;
use crate::store::Page;
use maud::{DOCTYPE, Markup, html};

pub(crate) const STYLE: &str = "\
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; }
header { display: flex; gap: 1rem; align-items: baseline; flex-wrap: wrap; }
header form { margin: 0 0 0 auto; }
pre { white-space: pre-wrap; font: inherit; overflow-wrap: anywhere; }
label { display: block; margin: .5rem 0; }
input, textarea, button { font: inherit; box-sizing: border-box; }
textarea { width: 100%; }
.note { opacity: .7; }
.wrong { border-left: .3rem solid currentColor; padding-left: .7rem; }
";

fn frame(visitor: &Visitor, title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                link rel="stylesheet" href="/style.css";
            }
            body {
                header {
                    a href="/" { "All pages" }
                    @match &visitor.0 {
                        Some(user) => {
                            span #user { (user) }
                            form method="post" action="/sign-out" { button #sign-out { "Sign out" } }
                        }
                        None => {
                            a href="/sign-in" { "Sign in" }
                            a href="/join" { "Join" }
                        }
                    }
                }
                main {
                    h1 { (title) }
                    (body)
                }
            }
        }
    }
}

pub(crate) fn index(visitor: &Visitor, names: &[String]) -> Markup {
    let body = html! {
        @if names.is_empty() { p { "There is no page yet." } }
        ul #pages {
            @for name in names { li { a href={ "/pages/" (name) } { (name) } } }
        }
        @if visitor.0.is_some() {
            p .note { "Open /edit/NAME for a new one, such as " a #new href="/edit/welcome" { "welcome" } "." }
        }
    };
    frame(visitor, "Pages", &body)
}

pub(crate) fn page(visitor: &Visitor, name: &str, page: &Page, visits: Option<i64>) -> Markup {
    let body = html! {
        pre #text { (page.text) }
        p .note {
            "Version " span #version { (page.version) } " by " span #author { (page.author) }
            @if let Some(visits) = visits { ", read " span #visits { (visits) } " times" }
            ". " a #edit href={ "/edit/" (name) } { "Edit" }
        }
    };
    frame(visitor, name, &body)
}

pub(crate) fn missing(visitor: &Visitor, name: &str) -> Markup {
    let body = html! { p { "There is no such page. " a #edit href={ "/edit/" (name) } { "Write it" } "." } };
    frame(visitor, name, &body)
}

/// The form; where another version was saved meanwhile, that one beside what was written.
pub(crate) fn edit(
    visitor: &Visitor,
    name: &str,
    base: u64,
    text: &str,
    other: Option<&Page>,
) -> Markup {
    let body = html! {
        @if let Some(other) = other {
            div #conflict .wrong {
                p { (other.author) " has saved version " (other.version) " meanwhile. Put both together below." }
                pre { (other.text) }
            }
        }
        form method="post" action={ "/edit/" (name) } {
            input type="hidden" name="base" value=(base);
            // The first line end behind the tag is the browser's.
            textarea name="text" rows="20" { "\n" (text) }
            p { button #save { "Save" } }
        }
    };
    frame(visitor, name, &body)
}

pub(crate) fn credentials(
    visitor: &Visitor,
    action: &str,
    title: &str,
    wrong: Option<&str>,
) -> Markup {
    let secret = if action == "/join" {
        "new-password"
    } else {
        "current-password"
    };
    let body = html! {
        @if let Some(wrong) = wrong { p #wrong .wrong { (wrong) } }
        form method="post" action=(action) {
            label { "Name " input name="user" required autocomplete="username"; }
            label { "Password " input name="password" type="password" required autocomplete=(secret); }
            button #enter { (title) }
        }
    };
    frame(visitor, title, &body)
}

#[cfg(test)]
mod view_test {
    use super::*;

    #[test]
    fn what_people_wrote_is_text() {
        let wrote = Page {
            version: 3,
            author: "<b>ann</b>".to_owned(),
            text: "<script>alert(1)</script>".to_owned(),
            edit: String::new(),
        };
        let visitor = Visitor(Some("\"><img>".to_owned()));
        for markup in [
            page(&visitor, "a", &wrote, Some(1)),
            edit(&visitor, "a", 3, &wrote.text, Some(&wrote)),
        ] {
            let text = markup.into_string();
            for tag in ["<script", "<img", "<b>"] {
                assert!(!text.contains(tag), "{text}");
            }
            assert!(text.contains("&lt;script&gt;"), "{text}");
        }
    }

    #[test]
    fn who_is_signed_in_is_shown_and_can_leave() {
        let nobody = index(&Visitor(None), &[]).into_string();
        assert!(nobody.contains("Sign in") && !nobody.contains("Sign out"));
        let ann = index(&Visitor(Some("ann".to_owned())), &["a".to_owned()]).into_string();
        assert!(ann.contains("Sign out") && ann.contains(">ann<"), "{ann}");
        assert!(ann.contains("href=\"/pages/a\""), "{ann}");
    }
}
