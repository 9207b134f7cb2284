import type { refusals } from '../en/refusals.ts'

export const refusalsInTurkish: Readonly<Record<keyof typeof refusals, string>> = {
  // What any request may get
  BAD_REQUEST: 'İstek geçerli HTTP değil.',
  HOST_COUNT: 'İstekte tam olarak bir Host başlığı olmalı.',
  HOST_MALFORMED: 'Host başlığı bir sunucu adı veya adres değil.',
  HTTP_VERSION_NOT_SUPPORTED: 'İstek HTTP/1.1 veya HTTP/1.0 olmalı.',
  UNSUPPORTED_TRANSFER_ENCODING: "Transfer-Encoding başlığı yalnızca HTTP/1.1'de ve yalnızca chunked olabilir.",
  NO_TUNNEL: 'Bu bir vekil sunucu değil: CONNECT kullanılamaz.',
  TOKEN_MISSING: 'Erişim belirteci gerekli: oturum açın ve Authorization: Bearer BELİRTEÇ olarak gönderin.',
  NOT_BEARER: 'Authorization başlığı "Bearer", bir boşluk ve bir belirteç olmalı.',
  EXPECTATION_NOT_MET: 'Expect başlığı yalnızca 100-continue olabilir.',
  NOT_FOUND: 'Bu adreste bir şey yok.',
  METHOD_NOT_ALLOWED: 'Bu adreste bu yöntem kullanılamaz.',
  REQUEST_TIMEOUT: 'İstek zamanında gelmedi.',
  BODIES_OVERLOADED:
    'Hizmet şu anda tutabileceğinden fazlasını alıyor. Hiçbir şey kaydedilmedi; isteği yeniden gönderin.',
  ANSWERS_OVERLOADED:
    'Hizmetin tutabileceğinden fazla yanıt okunmayı bekliyor. İstediklerinizi okuyun, sonra isteği yeniden gönderin.',
  CONNECTIONS_OVERLOADED:
    'Hizmetin tutabileceğinden fazla bağlantı açık. Daha az bağlantı kullanın, açık tutun ve isteği yeniden gönderin.',
  OVERLOADED: 'Hizmetin şu anda yapabileceğinden fazla işi var. Hiçbir şey kaydedilmedi; isteği yeniden gönderin.',
  UNSUPPORTED_MEDIA_TYPE: 'Content-Type JSON olmalı, örneğin application/json.',
  UNSUPPORTED_CONTENT_ENCODING: 'Gövde sıkıştırılmadan, Content-Encoding olmadan gönderilmeli.',
  HEADERS_TOO_LARGE: "İsteğin adresi ve başlıkları 16 KiB'den büyük ya da 1000 veya daha fazla başlık var.",
  PAGE_NOT_BUILT:
    'Bu sayfa derlenmemiş: kaynak kodun yanında esbuild yok. `npm ci` çalıştırın ya da `npm run build` çalıştırıp `dist` içinde oluşanı başlatın.',
  STOPPING: 'Hazır değil: hizmete durması söylendi. İstekleri başka bir kopyaya gönderin.',
  INTERNAL: 'Hizmette bir şeyler ters gitti. Ayrıntılar günlükte bu requestId ile bulunur.',

  // The body
  BODY_MISSING: 'İsteğin gövdesi bir JSON nesnesi olmalı.',
  BODY_NOT_UTF8: 'Gövde geçerli UTF-8 değil.',
  BODY_NOT_JSON: 'Gövde geçerli JSON değil.',
  BODY_TOO_DEEP: 'Gövde 64 düzeyden derin.',
  FORBIDDEN_KEY: 'Gövdede izin verilmeyen bir ad var: __proto__ veya constructor.prototype.',
  BODY_TOO_LARGE: 'Gövde izin verilenden büyük.',
  INVALID_REQUEST: 'İstek geçerli değil.',

  // Tokens and operators
  TOKEN_MALFORMED: 'Belirteç geçerli bir erişim belirteci değil.',
  TOKEN_ALGORITHM: 'Belirteç başka bir algoritmayla imzalanmış.',
  TOKEN_KEY_UNKNOWN: 'Belirteç bilinmeyen bir anahtarla imzalanmış.',
  TOKEN_SIGNATURE: 'Belirtecin imzası yanlış.',
  TOKEN_ISSUER: 'Belirteci başka bir hizmet vermiş.',
  TOKEN_AUDIENCE: 'Belirteç başka bir hizmet için.',
  TOKEN_CLAIMS: 'Belirteçte bir alan eksik ya da yanlış.',
  TOKEN_NOT_YET_VALID: 'Belirteç henüz geçerli değil.',
  TOKEN_EXPIRED: 'Belirtecin süresi doldu: yeniden oturum açın.',
  TOKEN_REVOKED: 'Belirteç iptal edildi: yeniden oturum açın.',
  OPERATOR_REQUIRED: 'Bunu yalnızca operatörler yapabilir: operatör olarak oturum açın.',
  OPERATOR_READ_ONLY: 'Yalnızca okuyan operatör hiçbir şeyi değiştiremez.',
  OPERATOR_FOR_SUPPORT: 'Destek operatörü bunu göremez.',
  REAUTHENTICATION_REQUIRED: 'Parola 15 dakikadan uzun süre önce girildi: yeniden girin.',
  FEED_ONLY: 'Bu belirteç yalnızca akış ve alındı numarasıyla okunan bildirimler içindir.',
  PAYLOADS_NOT_ALLOWED: 'Destek operatörü içerikleri göremez ve içeriklerde arama yapamaz.',

  // Signing keys
  SIGNING_KEY_CANNOT_OPEN: 'İmza anahtarları kullanılamıyor.',
  SECRET_MISSING:
    'Şifrelemek için gizli anahtar yok: TESLIM_SECRET için en az 16 karakter ya da TESLIM_SECRET_FILE için onu içeren bir dosya ayarlayın.',
  SIGNING_KEY_CHANGED:
    'Aynı anda başka süreçler imza anahtarlarını değiştirip durdu. Hiçbir şey yapılmadı; komutu yeniden çalıştırın.',

  // Login
  LOGIN_REFUSED: 'E-posta adresi, parola veya bölge API erişimi için geçerli değil.',
  LOGIN_PASSWORD_UNUSABLE: 'Parola en çok 1024 baytlık geçerli Unicode olmalı.',
  LOGIN_THROTTLED: 'Çok fazla başarısız oturum açma: daha sonra yeniden deneyin.',
  LOGIN_OVERLOADED: 'Çok fazla oturum açma denetlenmeyi bekliyor: birazdan yeniden deneyin.',
  CLIENT_GONE: 'İstemci, parolası denetlenmeden bağlantıyı kesti.',
  AUTHORIZATION_NOT_ALLOWED:
    'Bu adres kimlik doğrulaması istemez: Authorization başlığını kaldırıp isteği yeniden gönderin.',

  // Customers and API keys
  EMAIL_INVALID: 'E-posta adresi geçerli değil.',
  EMAIL_TAKEN: 'Bu e-posta adresiyle bir hesap zaten var.',
  NAME_INVALID: 'Ad en çok 100 karakterdir; denetim karakteri veya görünmez karakter içermez.',
  NOTE_INVALID: 'Not en çok 1000 karakterdir; satır sonu dışında denetim karakteri içermez.',
  REASON_INVALID: 'Neden tek satırda en çok 500 karakterdir; denetim karakteri içermez.',
  REGION_INVALID: 'Bölge TR gibi iki harftir.',
  AUTHORITY_RULE_INVALID: 'Kural bir ürün kodu, ABC-* gibi bir ön ek veya tek başına * olur.',
  AUTHORITY_RULE_MISSING: 'Hesabın böyle bir kuralı yok.',
  PASSWORD_SHORT: 'Parola en az 8 karakter olmalı.',
  PASSWORD_UNUSABLE: 'Parola en çok 1024 baytlık geçerli Unicode olmalı.',
  PASSWORD_COMMON:
    'Parola en çok kullanılanlardan biri ya da sonuna rakam veya işaret eklenmiş hâli; başka bir parola seçin.',
  PASSWORD_GUESSABLE:
    'Parolada e-posta adresi, onun bir parçası ya da teslim sözcüğü var ve geri kalanı çok kısa; başka bir parola seçin.',
  LABEL_INVALID: 'Etiket en çok 100 karakterdir; denetim karakteri veya görünmez karakter içermez.',
  NETWORK_INVALID: 'Ağ bir adres ya da 203.0.113.0/24 veya 2001:db8::/32 gibi bir ön ek olur.',
  API_KEY_NOT_FOUND: 'Böyle bir API anahtarı yok.',
  API_KEY_ENDED: 'API anahtarının süresi doldu veya iptal edildi.',
  API_KEY_ROTATED: 'API anahtarı zaten yenilendi.',
  CUSTOMER_REMOVED: 'Hesap kaldırıldı.',
  READ_ONLY_ALONE: 'Yalnızca okuma yetkisi ancak operatöre verilebilir.',
  SUPPORT_ALONE: 'Yalnızca bir operatör destek için olabilir.',
  PAYLOADS_ALONE: 'İçerik görme hakkı yalnızca destek operatörlerine verilir.',
  ROLES_TOGETHER:
    'Bir hesap şu rollerden yalnızca birini alabilir: yalnızca okuyan operatör, destek operatörü, yalnızca akış.',
  CUSTOMER_NOT_FOUND: 'Böyle bir hesap yok.',
  OPERATOR_SELF:
    'Operatörler burada kendilerini devre dışı bırakamaz, kendi belirteçlerini iptal edemez: başka bir operatörden isteyin ya da komut satırını kullanın.',

  // Deliveries and orders
  API_KEY_MISSING: 'ApiKey başlığı yok.',
  API_KEY_INVALID: 'API anahtarı geçerli değil.',
  TOKEN_FOREIGN: 'Belirteç, API anahtarından başka bir hesaba ait.',
  RATE_LIMITED: 'Bu API anahtarı dakikadaki bildirim sınırına ulaştı.',
  PRODUCT_NOT_AUTHORIZED: 'API anahtarı bu ürünler için bildirim gönderemez.',
  ORDER_NOT_FOUND: 'Böyle bir sipariş yok.',
  ORDER_AMBIGUOUS:
    'Bu numarayla birden çok hesabın siparişi var: birini ?customer= ile, kimliğiyle veya e-posta adresiyle belirtin.',
  DELIVERY_NOT_FOUND: 'Böyle bir bildirim yok.',
  REFUSAL_NOT_FOUND: 'Böyle bir ret yok ya da gövdesi saklanmadı.',
  CURSOR_PURGED: 'Bu imleçten sonraki bildirimler eskidiği için silindi.',
  DELIVERIES_LOST: 'Bu imleç, veritabanının yük devretmesinde veya kurtarılmasında kaybolan bildirimlerin arasında.',
  RANGE_INVALID: 'Zaman aralığı geçerli değil.',
  PAYLOAD_ERASED: 'Bu bildirimin içeriği silindi.',
  ERASE_FORBIDDEN: 'Bu sunucunun veritabanı rolü bildirimleri silemez; hiçbir şey değiştirilmedi.',
  ERASE_FORBIDDEN_RUN:
    'Bu sunucunun veritabanı rolü bildirimleri silemez; hiçbir şey değiştirilmedi. "{command}" komutunu tabloların sahibinin DATABASE_URL değeriyle çalıştırın ya da sahibi, deploy/postgres/service-role.sql dosyasında silme için yazan yetkiyi versin.',
  CURSOR_INVALID:
    'İmleç bu adrese ve bu filtrelere ait değil ya da geri yüklenen yedeğin geri aldığı bir yeri gösteriyor: aynı adres ve filtrelerle değiştirmeden gönderin ya da baştan başlamak için göndermeyin.',

  // The store
  STORE_UNAVAILABLE: 'Hizmet şu anda veri deposuna ulaşamıyor, istek onaylanmadı: yeniden gönderin.',
  ACTION_NOT_DONE: 'Denetim günlüğüne yazılamadığı için hiçbir şey yapılmadı.',
  ACTION_NOT_RECORDED: 'İşlem yapıldı, ama denetim günlüğüne yazılamadı: başka bir yere not edin ve yinelemeyin.',
  STORE_GONE: 'Açılan veri deposunun yerine başkası gelmiş.',
  STORE_IN_USE: 'Bu veri deposunda başka bir sunucu çalışıyor.',
  STORE_OVERLOADED:
    'Hizmete şu anda kaydedebileceğinden fazlası geliyor. Hiçbir şey kaydedilmedi; isteği yeniden gönderin.',
  IDEMPOTENCY_KEY_REUSED: 'Bu Idempotency-Key daha önce başka bir gövdeyle kullanıldı. Hiçbir şey kaydedilmedi.',
  STORE_MISSING: 'Hizmetin şu anda veri deposu yok. Hiçbir şey kaydedilmedi; isteği yeniden gönderin.',
  STORE_EMPTY: 'Hizmette henüz hesap yok. Hiçbir şey kaydedilmedi; isteği yeniden gönderin.',
  STORE_CANNOT_OPEN: 'Veri deposu açılamıyor.',
  STORE_FOREIGN: 'Dosya başka bir uygulamaya ait.',
  STORE_FORBIDDEN:
    'DATABASE_URL rolü bildirim silemez. Bunu tabloların sahibi olarak çalıştırın ya da deploy/postgres/service-role.sql dosyasındaki role, o dosyanın silme için söylediği yetkiyi verin.',
  STORE_OLDER: "Veri deposu teslim'in daha eski bir sürümüyle oluşturulmuş.",
  STORE_OTHER_SCHEMA: "Veri deposu teslim'in başka bir sürümüyle oluşturulmuş.",
  STORE_NEWER: "Veri deposu teslim'in daha yeni bir sürümüyle oluşturulmuş.",
  STORE_MOVED: 'Veri deposu başka bir veritabanına taşındı.',

  // Webhooks and the console
  WEBHOOK_URL_INVALID: "Webhook'un URL'si https://SUNUCU/YOL olur, kullanıcı adı ve # içermez.",
  WEBHOOK_ADDRESS_FORBIDDEN:
    "Webhook'lar herkese açık adreslere ve TESLIM_WEBHOOK_ALLOW içindekilere gönderilir: oraya, 443 (http için 80) değilse portu da yazın.",
  WEBHOOK_NOT_FOUND: 'Böyle bir uç nokta yok ya da kaldırıldı.',
  WEBHOOK_TOO_MANY: 'Zaten 1.000 uç nokta var: gerekmeyen birini kaldırın.',
  WEBHOOK_CA_INVALID: 'Sertifika yetkilisi, PEM biçiminde en çok 64 KiB sertifika olmalı.',
  WEBHOOK_HEADER_INVALID: 'Uç noktanın bir başlığı geçerli değil ya da ayarlanamaz.',
  WEBHOOK_DELIVERY_LEFT_OUT: 'Uç nokta bu durumdaki veya yinelenen bildirimleri almaz.',
  WEBHOOK_DELIVERY_PENDING: 'Bildirim gönderilmeyi bekliyor ya da şu anda gönderiliyor: yeniden göndermeye gerek yok.',
  WEBHOOK_REPLAY_RUNNING: 'Bu uç noktaya yeniden gönderim sürüyor: bitmesini bekleyin ya da iptal edin.',
  WEBHOOK_CHANGED: 'Aynı anda başkaları uç noktayı değiştirip durdu: yeniden deneyin.',
  WEBHOOK_SECRET_CANNOT_OPEN: 'Bir uç noktanın gizli anahtarı açılamıyor: nedenini "teslim doctor" söyler.',
  EXPORTS_FULL: 'Başka listeler dışa aktarılıyor. Biraz sonra yeniden deneyin.',
  SESSION_NEEDS_TLS: 'TLS olmadan bütün sekmelerin paylaştığı bir oturum olamaz: çerez yolda okunabilir.',
  REQUEST_OF_OTHER_PAGE: 'Bunu yalnızca konsolun kendisi gönderebilir.',
  SESSION_ENDED: 'Oturum sona erdi: yeniden oturum açın.',
  FOLLOWERS_FULL:
    'Hesabınızın bu süreçte açabileceği akış bağlantılarının ve bekleyen isteklerin tümü açık. Birkaçını kapatın ya da daha sonra yeniden deneyin.',
  CONSOLES_FULL:
    'Bu süreçte açılabilecek canlı görünümlerin tümü açık. Birini kapatın ya da daha sonra yeniden deneyin.',

  // What is said of a refusal beyond its code
  PRODUCTS_NOT_ALLOWED: 'Bu API anahtarı şu ürünler için bildirim gönderemez: {products:list}.',
  NO_PRODUCT_NAMED:
    'Bildirimin {places:list} yerlerinde ürün yok; ürünsüz bildirim için * kuralı olan bir API anahtarı gerekir.',
  RATE_LIMIT_REACHED:
    'Bu API anahtarı dakikada {limit} bildirim gönderebilir. Hiçbir şey kaydedilmedi; isteği {seconds} sn sonra yeniden gönderin.',
  LEAVE_TOKEN_OUT: '{refusal} API anahtarı tek başına yeterli: Authorization başlığını göndermeyin.',
  INVALID_REQUEST_AT: 'İstek geçerli değil: {problems:list;}.',
  INVALID_REQUEST_MEANT: 'İstek geçerli değil: {problems:list;}',
  PROBLEMS: '{problems:list;}',
  SECRET_NOT_SEARCHED:
    'API anahtarına, gizli anahtara ya da belirtece benziyor; bunlar aranmaz: anahtarın etiketini ya da kimliğinin başını arayın',
  REQUIRED: 'gerekli',
  SENT_TWICE: 'birden çok kez gönderilmiş',
  TOO_LONG: '{max} karakterden uzun',
  NOT_AN_OBJECT: 'bir JSON nesnesi olmalı',
  NOT_A_STRING: 'bir metin ya da null olmalı',
  NOT_A_STATUS: '0 ile 3 arasında bir tam sayı olmalı',
  NOT_VISIBLE_ASCII: '1 ile 255 arasında görünür ASCII karakter olmalı',
  NO_ORDER_ID: '{places:list} yerlerinde sipariş numarası içermiyor',
  MISSPELLED: 'yok sayıldı: yanlış yazılmış {field} gibi görünüyor',
  PRODUCT_NOT_ALLOWED: '{product} ürününe izin yok',
  EMPTY: 'boş olamaz',
  NOT_A_WHOLE_NUMBER: '{min} ile {max} arasında bir tam sayı olmalı',
  NOT_A_WHOLE_NUMBER_OR_NULL: '{min} ile {max} arasında bir tam sayı olmalı ya da boş bırakılmalı',
  NOT_A_NUMBER: '{min} ile {max} arasında bir sayı olmalı',
  NOT_A_TIME: 'saat dilimiyle birlikte bir zaman, örneğin 2026-11-21T09:00:00Z, ya da bir gün olmalı',
  A_CURSOR: 'bir imleç',
  NOT_A_PLACE: '{forms:list} ya da saat dilimiyle birlikte bir zaman olmalı',
  PAST: 'gelecekte olmalı',
  FUTURE: 'gelecekte olamaz',
  NOT_A_NETWORK:
    'bir ağ değil: 203.0.113.7 gibi bir adres ya da 203.0.113.0/24 veya 2001:db8::/32 gibi bir ön ek yazın',
  ADDRESS_HAS_ZONE: 'yalnızca tek bir makinede anlamı olan bir bölge kimliği içeriyor: onu yazmayın',
  PREFIX_LENGTH: 'ön ek uzunluğu yanlış: {min} ile {max} arasında olabilir',
  ADDRESS_IN_NETWORK: 'bir ağdaki bir adresi gösteriyor: ağ için {network} yazın ya da yalnızca adresi yazın',
  EVERY_ADDRESS: 'tüm adresleri kapsıyor',
  ALLOW_EVERY_ADDRESS:
    '{network} tüm adresleri kapsıyor: bunun için alanı boş bırakın; komut satırında "anywhere" yazın.',
  WRONG_NETWORK: '{network} {problem}.',
  PROBLEM_AT: '{path} {problem}',
  BODY_PROBLEM: 'gövde {problem}',
  REFUSALS_NOT_LISTED: 'Son dakikada {count} ret daha oldu; tek tek listelenmiyor: {codes:list}.',

  // Reasons, for operators
  KEY_UNKNOWN: 'bilinmeyen anahtar',
  KEY_IS_REVOKED: '{key} anahtarı iptal edilmiş',
  KEY_IS_EXPIRED: '{key} anahtarının süresi dolmuş',
  KEY_OF_OTHER_NETWORK: '{key} anahtarı {address} adresinden kullanılamaz',
  CUSTOMER_IS_DISABLED: 'hesap devre dışı',
  TOKEN_BESIDE_KEY:
    'geçerli API anahtarının yanında geçersiz belirteç; TESLIM_PURCHASE_BEARER=ignored belirteci yok sayar',
  NO_PRODUCT: 'ürün yok',
  EMAIL_UNKNOWN: 'bilinmeyen e-posta',
  LOGIN_DISABLED: 'devre dışı',
  LOGIN_NOT_API: 'API müşterisi değil',
  LOGIN_WITHOUT_PASSWORD: 'parolası yok',
  LOGIN_REGION: 'bölge etkin değil',
  PASSWORD_WRONG: 'yanlış parola',
  OPERATOR_ELSEWHERE: 'TESLIM_OPERATOR_NETWORKS dışında bir operatör',
}
