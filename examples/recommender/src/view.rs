//! What a browser shows; the library (maud) escapes what people wrote.

use crate::recommended::Recommended;
use maud::{DOCTYPE, Markup, html};

pub(crate) const STYLE: &str = "\
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem; }
label { display: block; margin: .5rem 0; }
input, button { font: inherit; }
";

fn frame(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                link rel="icon" href="data:,";
                link rel="stylesheet" href="/style.css";
            }
            body { main { h1 { (title) } (body) } }
        }
    }
}

pub(crate) fn index() -> Markup {
    let body = html! {
        form method="post" action="/visits" {
            label { "Reader " input name="reader" required; }
            label { "Page " input name="page" required; }
            button #visit { "Open the page" }
        }
    };
    frame("Who read this also read", &body)
}

pub(crate) fn page(recommended: &Recommended) -> Markup {
    let body = html! {
        p { "Opened " span #visits { (recommended.visits) } " times." }
        @if recommended.also.is_empty() {
            p { "None of its readers has opened another page yet." }
        } @else {
            p { "Who read this also read:" }
            ol #also {
                @for it in &recommended.also {
                    li { a href={ "/pages/" (it.page) } { (it.page) } " (" (it.readers) ")" }
                }
            }
        }
        p { a href="/" { "Open another page" } }
    };
    frame(&recommended.page, &body)
}
