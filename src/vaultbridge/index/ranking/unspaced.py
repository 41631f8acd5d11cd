"""The words of `translations` in Chinese, Japanese and Korean. Pure: no I/O.

They are searched for in the whole question, because it has no spaces or its words have endings attached.
Notes in these languages are not found by translation."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from vaultbridge.index.fold import fold_text
from vaultbridge.index.ranking.translations import list_words, read_table

_TABLES: Final = {
    "chinese": """
note 笔记 筆記 备忘, file 文件 檔案, folder 文件夹 資料夾, document 文档, page 页面, text 文本 文字, word
单词 字数, heading 标题, title 标题, name 名称 名字, tag 标签 標籤, link 链接 連結, image 图片 圖片 图像,
photo 照片, video 视频, audio 音频, record 录音 录制, voice 语音, attachment 附件, table 表格, list 列表,
task 任务, date 日期, daily 每日 每天 日记, today 今天, template 模板 模版, theme 主题, color 颜色, font
字体, appearance 外观, language 语言, settings 设置 設定, hotkey 快捷键 快捷鍵, keyboard 键盘, command 命令,
search 搜索 查找, filter 筛选 过滤, sort 排序, view 视图, window 窗口, tab 标签页, sidebar 侧边栏, layout
布局, workspace 工作区, open 打开, close 关闭, create 创建 新建, delete 删除 刪除, restore 恢复 还原,
recovery 恢复 找回, rename 重命名, move 移动, copy 复制, paste 粘贴, insert 插入, edit 编辑, change 更改 修改
更换, customize 自定义, write 写作, read 阅读, print 打印, export 导出, import 导入 匯入, download 下载,
upload 上传, install 安装, update 更新, version 版本, history 历史, backup 备份, sync 同步, device 设备,
phone 手机, computer 电脑, account 账户 账号, password 密码, login 登录, encryption 加密, security 安全,
privacy 隐私, share 分享 共享, collaborate 协作, team 团队, company 公司, license 许可, price 价格, pay 付费
支付, payment 付款, refund 退款, discount 折扣 优惠, student 学生, free 免费, subscription 订阅, storage
存储, limit 限制, publish 发布, website 网站, plugin 插件, app 应用, formula 公式, math 数学, number 数字,
count 统计, diagram 图表, graph 关系图 图谱, map 地图, canvas 白板 画布, presentation 演示 幻灯片, bookmark
书签, random 随机, outline 大纲, footnote 脚注, quote 引用, comment 注释, highlight 高亮, bold 粗体, italic
斜体, button 按钮, icon 图标, menu 菜单, mouse 鼠标, drag 拖动 拖放, error 错误, problem 问题, help 帮助,
start 开始, disable 禁用, enable 启用, hide 隐藏, show 显示, fold 折叠, automatic 自动, property 属性, embed
嵌入, translate 翻译, community 社区, developer 开发者, private 私人, public 公开, connect 连接, split 拆分,
merge 合并, user 用户, data 数据, save 保存, store 存储 储存, add 添加 增加, alias 别名 別名, cost 费用
多少钱, space 空间, vault 仓库 保险库, domain 域名, group 分组, size 大小, dark 深色 暗色 夜间, light 浅色,
mode 模式, section 章节, block 段落 块, code 代码, preview 预览, browser 浏览器, clip 剪藏 剪辑, slow 很慢
卡顿, crash 崩溃, support 支持, invoice 发票, tax 税, invite 邀请, conflict 冲突, lost 丢失 丢了, convert
转换, pin 固定 置顶, cell 单元格, place 地点, mention 提及, backlink 反向链接, nested 嵌套, style 样式, type
类型, value 值, cursor 光标, undo 撤销, duplicate 重复, permission 权限, school 学校, work 工作, interface
界面, monitor 屏幕 显示器, line 换行, row 行, column 列, remove 移除, previous 以前 旧版本, money 钱, plan
套餐, program 程序, mobile 移动端, calendar 日历
""",
    "japanese": """
note ノート メモ, file ファイル, folder フォルダ, document 文書, page ページ, text テキスト, word 単語
文字数, heading 見出し, title タイトル, name 名前, tag タグ, link リンク つなげ, image 画像, photo 写真,
video 動画, audio 音声, record 録音, attachment 添付, table 表, list リスト, task タスク, date 日付, daily
デイリー 毎日 日記, today 今日, template テンプレート, theme テーマ, color 色, font フォント, appearance 外観
見た目, language 言語, settings 設定, hotkey ホットキー ショートカット, keyboard キーボード, command
コマンド, search 検索, filter フィルタ, sort 並べ替え, view ビュー, window ウィンドウ, tab タブ, sidebar
サイドバー, layout レイアウト, workspace ワークスペース, open 開く, close 閉じる, create 作成 作る, delete
削除 消し, restore 復元 戻す, recovery 復元 復旧, rename 名前を変, move 移動, copy コピー, paste 貼り付け,
insert 挿入, edit 編集, change 変更, customize カスタマイズ, write 書く, read 読む, print 印刷, export
エクスポート, import インポート 取り込, download ダウンロード, install インストール, update 更新
アップデート, version バージョン, history 履歴, backup バックアップ, sync 同期, device デバイス 端末, phone
スマホ 電話, computer パソコン, account アカウント, password パスワード, login ログイン, encryption 暗号化,
security セキュリティ, privacy プライバシー, share 共有, team チーム, company 会社, license ライセンス, price
価格 料金, pay 支払, payment 支払い, refund 返金, discount 割引, student 学生, free 無料, subscription 購読,
storage 容量 ストレージ, publish 公開, website サイト, plugin プラグイン, app アプリ, formula 数式, math 数学
数式, graph グラフ, map 地図, canvas キャンバス, presentation プレゼン スライド, bookmark ブックマーク,
random ランダム, outline アウトライン, footnote 脚注 注釈, quote 引用, comment コメント, highlight
ハイライト, bold 太字, icon アイコン, menu メニュー, mouse マウス, drag ドラッグ, error エラー, problem 問題,
help ヘルプ, disable 無効, enable 有効, hide 隠す 非表示, show 表示, fold 折りたた, automatic 自動, property
プロパティ, embed 埋め込, translate 翻訳, community コミュニティ, developer 開発者, connect 接続, split 分割,
merge 結合, user ユーザー, data データ, save 保存, add 追加, alias エイリアス 別名, cost 費用 いくら, space
容量 空き, vault 保管庫, domain ドメイン, group グループ, size サイズ 大きさ, dark ダーク 暗い, light ライト
明るい, mode モード, section セクション, block ブロック, code コード, preview プレビュー, browser ブラウザ,
clip クリップ, slow 遅い 重い, crash クラッシュ, support サポート, invoice 請求書 領収書, tax 税, invite
招待, conflict 競合, lost 失くし 消えた 紛失, convert 変換, pin ピン 固定, cell セル, place 場所, mention
言及, backlink バックリンク, nested 入れ子, style スタイル, type 種類, value 値, cursor カーソル, undo
元に戻す 取り消, duplicate 複製 重複, permission 権限, school 学校, work 仕事, interface インターフェース,
monitor 画面 モニター, line 行, row 行, column 列, previous 以前 前の, money お金, number 番号, diagram 図,
button ボタン, mobile モバイル, calendar カレンダー, store 保存, collaborate 共同
""",
    "korean": """
note 노트 메모, file 파일, folder 폴더, document 문서, page 페이지, text 텍스트, word 단어, heading 제목,
title 제목, name 이름, tag 태그, link 링크, image 이미지 그림, photo 사진, video 동영상, audio 오디오, record
녹음, attachment 첨부, table 표, list 목록, task 할일 작업, date 날짜, daily 일일 매일, template 템플릿,
theme 테마, color 색상, font 글꼴, appearance 모양, language 언어, settings 설정, hotkey 단축키, keyboard
키보드, command 명령, search 검색, filter 필터, sort 정렬, window 창, tab 탭, sidebar 사이드바, layout
레이아웃, open 열기, close 닫기, create 만들기 생성, delete 삭제 지운 지우, restore 복원, recovery 복구, move
이동, copy 복사, paste 붙여넣, insert 삽입, edit 편집, change 변경 바꾸, customize 사용자, write 쓰기, read
읽기, print 인쇄, export 내보내 내보내기, import 가져오, download 다운로드, install 설치, update 업데이트,
version 버전, history 기록, backup 백업, sync 동기화 동기, device 기기 장치, phone 휴대폰, computer 컴퓨터,
account 계정, password 비밀번호, login 로그인, encryption 암호화, security 보안, privacy 개인정보, share
공유, team 팀, company 회사, license 라이선스, price 가격, payment 결제, refund 환불, discount 할인, student
학생, free 무료, subscription 구독, storage 저장공간, publish 게시, website 웹사이트, plugin 플러그인, app
앱, formula 수식, math 수학, graph 그래프, map 지도, canvas 캔버스, presentation 프레젠테이션 슬라이드,
bookmark 북마크, random 무작위, outline 개요, footnote 각주, quote 인용, comment 댓글, highlight 강조, icon
아이콘, menu 메뉴, error 오류, problem 문제, help 도움, hide 숨기, show 표시, fold 접기, automatic 자동,
property 속성, embed 삽입, translate 번역, community 커뮤니티, developer 개발자, connect 연결, user 사용자,
data 데이터, save 저장, add 추가, alias 별칭 별명, cost 비용, space 공간 용량, vault 보관함 금고, domain
도메인, group 그룹, size 크기, dark 다크 어두운, light 라이트 밝은, mode 모드, section 섹션, block 블록, code
코드, preview 미리보기, browser 브라우저, clip 클립 스크랩, slow 느려 느린, support 지원, invoice 영수증
청구서, tax 세금, invite 초대, conflict 충돌, lost 잃어버 사라진, convert 변환, pin 고정, cell 셀, place
장소, mention 언급, backlink 백링크, style 스타일, type 유형 종류, value 값, cursor 커서, undo 실행취소
되돌리, duplicate 복제 중복, permission 권한, school 학교, work 업무, interface 인터페이스, monitor 화면
모니터, row 행, column 열, today 오늘, view 보기, previous 이전, collaborate 협업, pay 지불, money 돈,
program 프로그램, number 숫자, count 개수, diagram 다이어그램, bold 굵게, italic 기울임, button 버튼, mouse
마우스, drag 드래그 끌어, disable 비활성, enable 활성, private 비공개, public 공개, mobile 모바일, split 분할
나누, merge 병합 합치, calendar 캘린더 달력, rename 이름을
""",
}


@lru_cache(1)
def _load() -> tuple[tuple[str, str], ...]:
    """Returns each word with the English word."""
    tables = (read_table(table) for table in _TABLES.values())
    return tuple((word, english) for table in tables for english, words in table.items() for word in words)


def translate_unspaced(text: str, into: str) -> dict[str, tuple[str, ...]]:
    """Returns the words in a text of a language without spaces that have a translation, with the
    translations."""
    folded = fold_text(text)
    found: dict[str, list[str]] = {}
    for word, english in _load():
        if word in folded:
            found.setdefault(word, []).append(english)
    # 文件夹 is a folder, not a file.
    whole = [word for word in found if not any(word != other and word in other for other in found)]
    return {word: others for word in whole if (others := list_words(found[word], into))}
