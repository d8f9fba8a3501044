"use strict";
// Unpacks plotly, which stands in the page compressed; whoever draws waits for `plotlyReady`.
window.plotlyReady = (async () => {
  const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(unpacked).text();
  document.head.append(script);
})();
