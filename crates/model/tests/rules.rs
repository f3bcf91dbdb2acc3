//! Each rule is needed: without it the model comes to a state in which a claim does not hold.

use brickyard_model::{Replication, Rule, Scope};

macro_rules! needed {
    ($($test:ident $rule:ident,)*) => {
        $(
            #[test]
            fn $test() {
                is_needed(Rule::$rule);
            }
        )*

        #[test]
        fn every_rule_has_its_test() {
            assert_eq!(Rule::ALL, [$(Rule::$rule,)*]);
        }
    };
}

needed! {
    refusals_go_ahead RefusalsGoAhead,
    streams_are_named StreamsAreNamed,
    records_follow RecordsFollow,
    grants_name_maps GrantsNameMaps,
    the_loop_acknowledges TheLoopAcknowledges,
    learners_vote LearnersVote,
    learners_hold_all LearnersHoldAll,
    promotions_name_views PromotionsNameViews,
    votes_stay_required VotesStayRequired,
    inherited_reads_wait InheritedReadsWait,
    inherited_commits_wait InheritedCommitsWait,
    views_take_two_steps ViewsTakeTwoSteps,
    proposals_name_their_base ProposalsNameTheirBase,
    leaders_ask_afresh LeadersAskAfresh,
    all_are_fenced AllAreFenced,
    primaries_accept PrimariesAccept,
    accepting_syncs AcceptingSyncs,
    accepting_stops AcceptingStops,
    restarts_cut_nothing RestartsCutNothing,
    views_name_lives ViewsNameLives,
    promotions_name_lives PromotionsNameLives,
    views_are_remembered ViewsAreRemembered,
    pending_goes_first PendingGoesFirst,
    bases_end_catch_ups BaselinesEndCatchUps,
    clocks_are_read ClocksAreRead,
    memory_is_declared_lost MemoryIsDeclaredLost,
}

fn is_needed(rule: Rule) {
    let found = Replication::without(Scope::of_rule(rule), rule).search();
    let (claim, steps) = found
        .violation
        .unwrap_or_else(|| panic!("{} states, and nobody misses {rule}", found.states));
    assert!(
        !steps.is_empty(),
        "{claim} does not hold from the beginning"
    );
    println!(
        "without {rule}: {claim} does not hold, {} states",
        found.states
    );
    for step in steps {
        println!("    {step}");
    }
}
