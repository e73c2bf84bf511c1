// SPDX-License-Identifier: Apache-2.0
// A lineage as a tree. Pure. A graph can have more paths than a browser can walk, so each node has one
// place, as near to the start as there is one. Other places say `again` and lead no further.

// `here` and `there` name the ends of an edge ("from", "to"), in the direction of the walk. Returns
// {position, edge, again, children, left}, where `left` is how many edges of the node are left out.
export function treeOf(edges, here, there, most = 100) {
  const going = new Map();
  for (const edge of edges) {
    if (!going.has(edge[here])) going.set(edge[here], []);
    going.get(edge[here]).push(edge);
  }
  const place = (position, edge, again) => ({ position, edge, again, children: [], left: 0 });
  const start = place(0, null, false);
  const placed = new Set([0]);
  const waiting = [start];
  for (const node of waiting) {
    const all = going.get(node.position) ?? [];
    node.left = Math.max(0, all.length - most);
    for (const edge of all.slice(0, most)) {
      const next = edge[there];
      const child = place(next, edge, placed.has(next));
      node.children.push(child);
      if (!child.again) waiting.push(child);
      placed.add(next);
    }
  }
  return start;
}
