// RUN: tegula-opt %s --split-input-file --verify-diagnostics

func.func @no_group_follows() {
  // expected-error @+1 {{joins the next commit, but no 'sm.commit' follows in its block}}
  %a = sm.commit joins_next
  return
}

// -----

func.func @group_is_open(%c: i1) {
  // expected-note @+1 {{their 'sm.commit' joins the next one}}
  %a = sm.commit joins_next
  scf.if %c {
    // expected-error @+1 {{waits for copies whose group is still open}}
    sm.wait %a
  }
  %b = sm.commit
  return
}
