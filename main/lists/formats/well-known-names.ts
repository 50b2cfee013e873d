/**
 * Names that a rule should hardly ever match together: the sample against which patterns are held
 * to see whether they are too wide, and whose bytes count as common. Made-up names under many
 * top-level domains stand beside the well-known ones, so that a pattern for a whole top-level domain
 * is seen, too.
 */
export const WELL_KNOWN_NAMES: readonly string[] = (
  'google.com www.google.com youtube.com www.youtube.com facebook.com www.facebook.com ' +
  'wikipedia.org en.wikipedia.org de.wikipedia.org amazon.com www.amazon.de microsoft.com ' +
  'login.microsoftonline.com update.microsoft.com apple.com www.apple.com icloud.com github.com ' +
  'api.github.com stackoverflow.com reddit.com www.reddit.com x.com twitter.com linkedin.com ' +
  'instagram.com whatsapp.com web.whatsapp.com telegram.org signal.org netflix.com spotify.com ' +
  'twitch.tv paypal.com ebay.com ebay.co.uk bbc.co.uk www.bbc.com cnn.com nytimes.com ' +
  'theguardian.com spiegel.de www.heise.de web.de gmx.net lemonde.fr orange.fr repubblica.it ' +
  'elpais.com yandex.ru vk.com baidu.com qq.com taobao.com naver.com rakuten.co.jp yahoo.co.jp ' +
  'duckduckgo.com bing.com www.bing.com mozilla.org www.mozilla.org debian.org www.debian.org ' +
  'ubuntu.com archive.ubuntu.com kernel.org python.org pypi.org nodejs.org npmjs.com docker.com ' +
  'cloudflare.com quad9.net letsencrypt.org w3.org ietf.org iana.org icann.org un.org europa.eu ' +
  'gov.uk usa.gov nasa.gov nih.gov mit.edu stanford.edu ox.ac.uk ethz.ch dropbox.com zoom.us ' +
  'slack.com discord.com office.com outlook.live.com mail.google.com maps.google.com ' +
  'drive.google.com docs.google.com accounts.google.com play.google.com fonts.gstatic.com ' +
  'steampowered.com store.steampowered.com nintendo.com playstation.com xbox.com weather.com ' +
  'booking.com airbnb.com uber.com ikea.com dhl.de bahn.de sncf.com visa.com mastercard.com'
).split(' ');

const TOPS =
  'com org net info biz edu gov mil int arpa de fr uk nl it es pl ru cn jp kr in br mx au ca us ch ' +
  'at be se no dk fi cz sk hu ro gr pt ie tr ua il za io co me tv cc ai app dev xyz top club site ' +
  'online shop store zip mov win bid loan click link live pro cloud tk ml ga cf gq pw ws su eu asia';

/** Two made-up names, of no likeness, under each of many top-level domains. */
export const MADE_UP_PAIRS: readonly (readonly [string, string])[] = TOPS.split(' ').map((top) => [
  `zvkqjxw.${top}`,
  `m4-t7r.b2pq.${top}`,
]);
