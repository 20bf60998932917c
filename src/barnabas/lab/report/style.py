"""The looks of the report: light and dark, and paper."""

CSS = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1d2129; --soft: #667085; --line: #e4e7ec; --card: #f8f9fb;
  --bad: #c8102e; --good: #14833b; --note: #1f6feb;
  --b0: #4c78a8; --b1: #e8883a; --b2: #54a24b; --b3: #b279a2; --b4: #8c6d31; --b5: #439894;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171c; --ink: #e6e8eb; --soft: #98a2b3; --line: #2d333b; --card: #1b1f26;
    --bad: #ff6b7d; --good: #4fc376; --note: #6ea8fe;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 1120px; padding: 24px 20px 60px; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif;
}
h1 { font-size: 22px; margin: 0 0 4px; }
h2 { font-size: 20px; margin: 0 0 6px; }
h3 { font-size: 15px; margin: 20px 0 6px; }
p { margin: 6px 0; max-width: 76ch; }
section { margin: 28px 0; padding: 20px; border: 1px solid var(--line); border-radius: 10px; }
.soft, .soft a { color: var(--soft); }
.badge {
  display: inline-block; padding: 1px 10px; border-radius: 20px; font-size: 13px; color: #fff;
  vertical-align: 2px; margin-left: 8px;
}
.badge.yes { background: #14833b; } .badge.no { background: #c8102e; }
.counts { display: flex; flex-wrap: wrap; gap: 10px; margin: 12px 0; padding: 0; list-style: none; }
.counts li { background: var(--card); border-radius: 8px; padding: 6px 14px; min-width: 96px; }
.counts b { display: block; font-size: 20px; font-variant-numeric: tabular-nums; }
.counts .bad b { color: var(--bad); }
svg { width: 100%; height: auto; background: var(--card); border-radius: 8px; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
svg .label { fill: var(--ink); font-size: 12px; }
svg .in-bar { fill: #fff; font-weight: 600; }
svg .number { text-anchor: end; } svg .tick { text-anchor: middle; }
svg .grid { stroke: var(--line); fill: none; }
svg .down { fill: transparent; stroke: var(--bad); stroke-dasharray: 3 2; }
svg .out { fill: var(--line); }
svg .b0 { fill: var(--b0); } svg .b1 { fill: var(--b1); } svg .b2 { fill: var(--b2); }
svg .b3 { fill: var(--b3); } svg .b4 { fill: var(--b4); } svg .b5 { fill: var(--b5); }
svg .lost { fill: var(--bad); } svg .lost-text { fill: var(--bad); font-weight: 600; }
svg .curve { fill: none; stroke-width: 2; }
svg .curve.sent { stroke: var(--soft); stroke-dasharray: 4 3; }
svg .curve.acked { stroke: var(--note); } svg .curve.received { stroke: var(--good); }
svg .curve-text.acked { fill: var(--note); } svg .curve-text.received { fill: var(--good); }
svg .flag path { stroke-width: 1; stroke-dasharray: 2 3; fill: none; }
svg .flag text { fill: #fff; text-anchor: middle; font-weight: 700; }
svg .fault path { stroke: var(--bad); } svg .fault circle { fill: #c8102e; }
svg .recovery path { stroke: var(--good); } svg .recovery circle { fill: #14833b; }
svg .sight path { stroke: var(--note); } svg .sight circle { fill: #1f6feb; }
table { border-collapse: collapse; font-size: 14px; width: 100%; }
td, th { text-align: left; padding: 3px 10px 3px 0; vertical-align: top; }
td.time {
  width: 1%; padding-right: 18px; font-variant-numeric: tabular-nums; white-space: nowrap;
  color: var(--soft);
}
tr.fault td:last-child { color: var(--bad); } tr.recovery td:last-child { color: var(--good); }
tr.sight td:last-child { color: var(--note); } tr.verdict td:last-child { font-weight: 600; }
code, pre { font: 13px/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { background: var(--card); border-radius: 8px; padding: 10px 14px; overflow-x: auto; }
.takeaway { border-left: 3px solid var(--note); padding-left: 14px; }
@media print { section { break-inside: avoid; } }
"""
