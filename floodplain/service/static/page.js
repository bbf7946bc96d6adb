// What htmx does not show by itself: that an answer did not come, or was a refusal.
(function () {
  "use strict";
  function say(text) {
    var place = document.getElementById("trouble");
    place.textContent = text;
    place.hidden = text === "";
  }
  document.addEventListener("htmx:beforeRequest", function () { say(""); });
  document.addEventListener("htmx:sendError", function () { say("The service does not answer. Try again in a moment."); });
  document.addEventListener("htmx:responseError", function (event) {
    say("The service answered with " + event.detail.xhr.status + ". Try again in a moment.");
  });
})();
